package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/runfolder"
)

const (
	// runFolders begins the names of the folders that runs of harmony up have.
	runFolders = "harmony-up-"
	// pageFile is the file in such a folder with the address of the page.
	pageFile = "page"
	// adminSocket is the name of the socket of Envoy's admin interface in such a folder.
	adminSocket = "admin.sock"
	// maxSocketPath is the longest path of a Unix socket that works on every system. macOS has 104 bytes, and one of them
	// ends the path.
	maxSocketPath = 103
)

// These are the hosts of the filter in a run of harmony up, as its flags and its status name them.
const (
	hostEnvoy  = "envoy"
	hostWazero = "wazero"
)

// runParents returns the folders that may have the folder of a run: the one for temporary files, and another if the path
// of a socket in it would be too long.
func runParents() []string {
	const folder = len("/" + runFolders + "0123456789/" + adminSocket)
	if temp := os.TempDir(); len(temp)+folder <= maxSocketPath {
		return []string{temp}
	}
	return []string{os.TempDir(), "/tmp"}
}

// newRunFolder makes the folder of a run without Envoy, which needs no socket.
func newRunFolder() (*runfolder.Folder, error) {
	var errs error
	for _, parent := range runParents() {
		folder, err := runfolder.New(parent, runFolders)
		if err == nil {
			return folder, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, fmt.Errorf("no place for temporary files; set TMPDIR: %w", errs)
}

// removeDeadRuns removes what runs of harmony up have left that were killed.
func removeDeadRuns() {
	for _, parent := range runParents() {
		runfolder.RemoveDead(parent, runFolders)
	}
}

// runningPages returns the addresses of the pages of this user's runs of harmony up.
func runningPages() []string {
	var pages []string
	for _, parent := range runParents() {
		for _, folder := range runfolder.Live(parent, runFolders) {
			if text, err := os.ReadFile(filepath.Join(folder, pageFile)); err == nil { // else it does not serve yet
				pages = append(pages, strings.TrimSpace(string(text)))
			}
		}
	}
	return pages
}

// announcePage writes where the page of a run is into its folder, for [runningPages].
func announcePage(folder *runfolder.Folder, address string) error {
	hidden := folder.File("." + pageFile)
	if err := os.WriteFile(hidden, []byte(address+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(hidden, folder.File(pageFile))
}
