package pools

import (
	"crypto/x509"
	"maps"
	"slices"
)

// sources returns the files of the pools. It reads those that are new. The others stay as they are, because watchFiles
// handles their changes. The caller holds w.filesMu.
func (w *Watcher) sources(pools map[string]*pool) (
	lists map[string]source[list], roots map[string]source[*x509.CertPool], err error) {
	files, cas := filesOf(pools)
	// The files are watched before they are read, so that no change in between is missed.
	watched := slices.Concat(slices.Collect(maps.Keys(w.lists)), slices.Collect(maps.Keys(w.roots)))
	w.files.Set(slices.Concat(watched, files, cas))
	defer func() {
		if err == nil {
			watched = slices.Concat(files, cas)
		}
		w.files.Set(watched)
	}()
	if lists, err = readNew(w.lists, files, parseServers); err != nil {
		return nil, nil, err
	}
	roots, err = readNew(w.roots, cas, parseRoots)
	return lists, roots, err
}

// checkSources reads the files of pools that are new, and keeps nothing of them. The caller holds w.filesMu.
func (w *Watcher) checkSources(pools map[string]*pool) error {
	files, cas := filesOf(pools)
	if _, err := readNew(w.lists, files, parseServers); err != nil {
		return err
	}
	_, err := readNew(w.roots, cas, parseRoots)
	return err
}

// filesOf returns the files of pools with servers, and those with certificates.
func filesOf(pools map[string]*pool) (files, cas []string) {
	for _, p := range pools {
		if p.File != "" {
			files = append(files, p.File)
		}
		if p.CAFile != "" {
			cas = append(cas, p.CAFile)
		}
	}
	return files, cas
}

func readNew[T any](known map[string]source[T], paths []string, parse func(string, []byte, T) (T, error)) (
	map[string]source[T], error) {
	sources := make(map[string]source[T], len(paths))
	for _, path := range paths {
		s, ok := known[path]
		if !ok {
			if s = (source[T]{path: path, parse: parse}).reread(); s.err != nil {
				return nil, s.err
			}
		}
		sources[path] = s
	}
	return sources, nil
}

func (w *Watcher) watchFiles() {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.files.Changed():
			w.rereadFiles()
		}
	}
}

func (w *Watcher) rereadFiles() {
	w.filesMu.Lock()
	defer w.filesMu.Unlock()
	lists, roots := reread(w, w.lists), reread(w, w.roots)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists, w.roots = lists, roots
	w.refresh()
	notify(w.changed) // a file that can no longer be read changes no servers
}

// reread reads the files again. It logs errors that are new, and files that have new valid content.
func reread[T any](w *Watcher, known map[string]source[T]) map[string]source[T] {
	next := make(map[string]source[T], len(known))
	for path, old := range known {
		s := old.reread()
		switch {
		case s.err != nil && (old.err == nil || old.err.Error() != s.err.Error()):
			w.log.Warn("a file is refused; its last good content stays in force", "file", path, "error", s.err)
		case s.err == nil && s.sum != old.sum:
			w.log.Info("a file has been read again", "file", path)
		}
		next[path] = s
	}
	return next
}
