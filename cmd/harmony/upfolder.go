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
	// upFolders begins the names of the folders that runs of harmony up have.
	upFolders = "harmony-up-"
	// pageFile is the file in such a folder with the address of the page.
	pageFile = "page"
)

// upParents returns the folders that may have the folder of a run: the one for temporary files, and another if the path
// of a socket in it would be too long.
func upParents() []string {
	const folder = len("/" + upFolders + "0123456789/" + adminSocket)
	if temp := os.TempDir(); len(temp)+folder <= maxSocketPath {
		return []string{temp}
	}
	return []string{os.TempDir(), "/tmp"}
}

// newUpFolder makes the folder of a run without Envoy, which needs no socket.
func newUpFolder() (*runfolder.Folder, error) {
	var errs error
	for _, parent := range upParents() {
		folder, err := runfolder.New(parent, upFolders)
		if err == nil {
			return folder, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, fmt.Errorf("no place for temporary files; set TMPDIR: %w", errs)
}

// removeDeadRuns removes what runs of harmony up have left that were killed.
func removeDeadRuns() {
	for _, parent := range upParents() {
		runfolder.RemoveDead(parent, upFolders)
	}
}

// runningPages returns the addresses of the pages of this user's runs of harmony up.
func runningPages() []string {
	var pages []string
	for _, parent := range upParents() {
		for _, folder := range runfolder.Live(parent, upFolders) {
			if text, err := os.ReadFile(filepath.Join(folder, pageFile)); err == nil { // else it does not serve yet
				pages = append(pages, strings.TrimSpace(string(text)))
			}
		}
	}
	return pages
}

// announce writes where the page is into the folder of this run, for [runningPages].
func (s *upSight) announce(folder *runfolder.Folder) error {
	hidden := folder.File("." + pageFile)
	if err := os.WriteFile(hidden, []byte(s.listener.Addr().String()+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(hidden, folder.File(pageFile))
}
