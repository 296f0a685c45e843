package runfolder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockName is the file in a folder that the run holds a lock on. The system ends the lock when the process ends,
// however it ends. A process id would not do: the system gives it to another process.
const lockName = "lock"

// Folder is a temporary folder of mode 0700.
type Folder struct {
	// Path is the folder's path.
	Path string
	lock *os.File
}

// New makes a folder in parent. Its name begins with prefix.
func New(parent, prefix string) (*Folder, error) {
	path, err := os.MkdirTemp(parent, prefix) // mode 0700
	if err != nil {
		return nil, err
	}
	f := &Folder{Path: path}
	// The file gets its name when the lock is held. Otherwise RemoveDead of another process could come in between.
	hidden := filepath.Join(path, "."+lockName)
	f.lock, err = os.OpenFile(hidden, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // child processes do not get it
	if err == nil {
		err = errors.Join(tryLock(f.lock), os.Rename(hidden, filepath.Join(path, lockName)))
	}
	if err != nil {
		f.Remove()
		return nil, err
	}
	return f, nil
}

// File returns the path of a file in the folder.
func (f *Folder) File(name string) string { return filepath.Join(f.Path, name) }

// Remove removes the folder and all that is in it. Files that cannot be removed are left to [RemoveDead].
func (f *Folder) Remove() {
	_ = os.RemoveAll(f.Path)
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// RemoveDead removes the folders in parent whose names begin with prefix and whose run has ended without
// [Folder.Remove]. It leaves other users' folders, and folders that New has not made.
func RemoveDead(parent, prefix string) {
	for _, path := range own(parent, prefix) {
		if f, live := adopt(path); f != nil && !live {
			f.Remove()
		}
	}
}

// Live returns the paths of this user's folders in parent whose names begin with prefix and whose run has not ended.
func Live(parent, prefix string) []string {
	var paths []string
	for _, path := range own(parent, prefix) {
		f, live := adopt(path)
		if live {
			paths = append(paths, path)
		} else if f != nil {
			_ = f.lock.Close()
		}
	}
	return paths
}

// own returns the paths of this user's folders in parent whose names begin with prefix.
func own(parent, prefix string) []string {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) { // a link is no folder here
			continue
		}
		if info, err := e.Info(); err == nil && ownedByUser(info) {
			paths = append(paths, filepath.Join(parent, e.Name()))
		}
	}
	return paths
}

// adopt takes the lock of a folder whose run has ended. live reports whether a run holds the lock. Without a lock file
// adopt returns nil and false.
func adopt(path string) (f *Folder, live bool) {
	name := filepath.Join(path, lockName)
	lock, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	if err := tryLock(lock); err != nil {
		_ = lock.Close()
		return nil, errors.Is(err, syscall.EWOULDBLOCK)
	}
	// Another process may have removed the folder since the file was opened.
	held, heldErr := lock.Stat()
	named, namedErr := os.Lstat(name)
	if heldErr != nil || namedErr != nil || !os.SameFile(held, named) {
		_ = lock.Close()
		return nil, false
	}
	return &Folder{Path: path, lock: lock}, false
}

// tryLock takes the lock of a file, or returns an error if another process, or another part of this one, holds it.
func tryLock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

func ownedByUser(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
