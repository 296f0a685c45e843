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
	// pageFile is the file in such a folder with the address of the page, and in its second line the gateway's URL.
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

// Run is a run of harmony up on this machine.
type Run struct {
	// Page is the address of its page.
	Page string
	// Gateway is the URL at which this machine's clients reach it. It is empty if they cannot, as with TLS.
	Gateway string
}

// Runs returns this user's runs of harmony up that serve.
func Runs() []Run {
	var runs []Run
	for _, parent := range RunParents() {
		for _, folder := range runfolder.Live(parent, RunFolders) {
			if text, err := os.ReadFile(filepath.Join(folder, pageFile)); err == nil { // else it does not serve yet
				page, gateway, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
				runs = append(runs, Run{Page: page, Gateway: gateway})
			}
		}
	}
	return runs
}

// RunningPages returns the addresses of the pages of [Runs].
func RunningPages() []string {
	var pages []string
	for _, r := range Runs() {
		pages = append(pages, r.Page)
	}
	return pages
}

// Announce writes a run into its folder, for [Runs].
func (r Run) Announce(folder *runfolder.Folder) error {
	hidden := folder.File("." + pageFile)
	if err := os.WriteFile(hidden, []byte(r.Page+"\n"+r.Gateway+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(hidden, folder.File(pageFile))
}
