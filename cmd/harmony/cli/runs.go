package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/runfolder"
)

const (
	// RunFolders begins the names of the folders that runs of harmony up have.
	RunFolders = "harmony-up-"
	// pageFile is the file in such a folder with the address of the page.
	pageFile = "page"
	// AdminSocket is the name of the socket of Envoy's admin interface in such a folder.
	AdminSocket = "admin.sock"
	// MaxSocketPath is the longest path of a Unix socket that works on every system. macOS has 104 bytes, and one of them
	// ends the path.
	MaxSocketPath = 103
)

// These are the hosts of the filter in a run of harmony up, as its flags and its status name them.
const (
	HostEnvoy  = "envoy"
	HostWazero = "wazero"
)

// RunParents returns the folders that may have the folder of a run: the one for temporary files, and another if the
// path of a socket in it would be too long.
func RunParents() []string {
	const folder = len("/" + RunFolders + "0123456789/" + AdminSocket)
	if temp := os.TempDir(); len(temp)+folder <= MaxSocketPath {
		return []string{temp}
	}
	return []string{os.TempDir(), "/tmp"}
}

// NewRunFolder makes the folder of a run without Envoy, which needs no socket.
func NewRunFolder() (*runfolder.Folder, error) {
	var errs error
	for _, parent := range RunParents() {
		folder, err := runfolder.New(parent, RunFolders)
		if err == nil {
			return folder, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, fmt.Errorf("no place for temporary files; set TMPDIR: %w", errs)
}

// RemoveDeadRuns removes what runs of harmony up have left that were killed.
func RemoveDeadRuns() {
	for _, parent := range RunParents() {
		runfolder.RemoveDead(parent, RunFolders)
	}
}

// RunningPages returns the addresses of the pages of this user's runs of harmony up.
func RunningPages() []string {
	var pages []string
	for _, parent := range RunParents() {
		for _, folder := range runfolder.Live(parent, RunFolders) {
			if text, err := os.ReadFile(filepath.Join(folder, pageFile)); err == nil { // else it does not serve yet
				pages = append(pages, strings.TrimSpace(string(text)))
			}
		}
	}
	return pages
}

// AnnouncePage writes where the page of a run is into its folder, for [RunningPages].
func AnnouncePage(folder *runfolder.Folder, address string) error {
	hidden := folder.File("." + pageFile)
	if err := os.WriteFile(hidden, []byte(address+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(hidden, folder.File(pageFile))
}
