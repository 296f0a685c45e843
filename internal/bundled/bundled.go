package bundled

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/harmonyedge/harmonyedge/internal/atomicfile"
)

// File is where a release puts the packed filter, from the root of the sources.
const File = "internal/bundled/" + packed

const packed = "filter/harmony-filter.wasm.gz"

// files has the packed filter, or only the folder's README.md. So a checkout without a filter compiles.
//
//go:embed filter
var files embed.FS

// ErrNone is the error of [Filter] and [Unpack] in a program without the filter.
var ErrNone = errors.New("this program was built without the filter")

// Filter returns the filter's module. The caller must not change it.
func Filter() ([]byte, error) { return filter() }

var filter = sync.OnceValues(func() ([]byte, error) { return read(files) })

func read(from fs.FS) ([]byte, error) {
	data, err := fs.ReadFile(from, packed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the filter in this program: %w", err)
	}
	module, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("the filter in this program: %w", err)
	}
	return module, nil
}

// Pack returns a module as [File] has it. The same module always gives the same bytes.
func Pack(module []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(module); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Unpack returns the path of a file with the filter, for hosts that read files. The file lies in the user's cache folder,
// or in a folder for temporary files where there is none, and stays there. Its name has the module's checksum, so programs
// of other versions have files of their own.
func Unpack() (string, error) {
	module, err := Filter()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	return unpackIn(module, cache, err, os.TempDir())
}

// unpackIn unpacks into the cache folder, or into the one for temporary files if cacheErr says that there is none.
func unpackIn(module []byte, cache string, cacheErr error, temp string) (path string, err error) {
	if cacheErr == nil {
		if path, cacheErr = unpack(module, filepath.Join(cache, "harmony-edge", "filter")); cacheErr == nil {
			return path, nil
		}
	}
	folder := filepath.Join(temp, fmt.Sprintf("harmony-edge-%d", os.Getuid()))
	if err = makePrivate(folder); err == nil {
		path, err = unpack(module, folder)
	}
	if err != nil {
		return "", fmt.Errorf("the filter in this program has no place for its file (%w; %w); set XDG_CACHE_HOME to a folder "+
			"that can be written, or write the file with harmony filter -o FILE and name it with --wasm", cacheErr, err)
	}
	return path, nil
}

// makePrivate makes a folder that only this user may enter. One that is there already must be so: in the folder for
// temporary files another user could have made it.
func makePrivate(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of this user alone", folder)
	}
	return nil
}

func unpack(module []byte, folder string) (string, error) {
	digest := sha256.Sum256(module)
	path := filepath.Join(folder, "harmony-filter-"+hex.EncodeToString(digest[:8])+".wasm")
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, module) {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return path, atomicfile.Write(path, module, 0o644)
}
