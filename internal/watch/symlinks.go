package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// place is a name in a folder. The folder's own path has no symlinks.
type place struct{ folder, name string }

func (p place) path() string { return filepath.Join(p.folder, p.name) }

// maxLinks is how many symlinks are followed. More of them are taken for a cycle.
const maxLinks = 40

// symlinkChain lists the places that decide which file path names: every symlink on the way, and the file itself. If a
// part of the path does not exist, that part is the last place.
func symlinkChain(path string) []place {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	const separator = string(filepath.Separator)
	var found []place
	at, rest := root(path)
	for links := 0; ; {
		name, more, _ := strings.Cut(strings.TrimLeft(rest, separator), separator)
		more = strings.TrimLeft(more, separator)
		if name == "" {
			return found
		}
		if name == "." || name == ".." {
			at, rest = filepath.Join(at, name), more
			continue
		}
		p := place{folder: at, name: name}
		target, err := os.Readlink(p.path())
		switch {
		case err == nil:
			found = append(found, p)
			if links++; links > maxLinks {
				return found
			}
			if filepath.IsAbs(target) {
				at, target = root(target)
			}
			rest = target + separator + more
		case more == "" || errors.Is(err, fs.ErrNotExist):
			return append(found, p)
		default:
			at, rest = p.path(), more
		}
	}
}

// root splits an absolute path into its root and the rest.
func root(path string) (root, rest string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), path[len(volume):]
}
