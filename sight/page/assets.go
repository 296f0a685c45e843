package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var files embed.FS

// assets serves the page's files.
func assets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveFile(w, r, r.URL.Path) })
}

// index serves the page itself.
func index() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveFile(w, r, "index.html") })
}

// serveFile answers with a file. Browsers ask each time whether it has changed, because the program may have been
// replaced.
func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	content, err := files.ReadFile(path.Join("assets", path.Clean("/"+name)))
	if err != nil {
		refuse(w, http.StatusNotFound, "not_found", "the page has no such file")
		return
	}
	sum := sha256.Sum256(content)
	w.Header().Set("etag", `"`+hex.EncodeToString(sum[:8])+`"`)
	w.Header().Set("cache-control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// Assets returns the page's files, for tests of the page alone.
func Assets() fs.FS {
	sub, err := fs.Sub(files, "assets")
	if err != nil {
		panic(err) // cannot happen: the folder is in the program
	}
	return sub
}
