package release

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// proxyFolder is the folder of the Go module, which is a module proxy that needs no server: GOPROXY=file://….
const proxyFolder = "goproxy"

// sourceFile is a file of a module's archive.
type sourceFile struct{ root, name string }

// Path implements [modzip.File].
func (f sourceFile) Path() string { return f.name }

// Lstat implements [modzip.File].
func (f sourceFile) Lstat() (os.FileInfo, error) { return os.Lstat(f.path()) }

// Open implements [modzip.File].
func (f sourceFile) Open() (io.ReadCloser, error) { return os.Open(f.path()) }

func (f sourceFile) path() string { return filepath.Join(f.root, filepath.FromSlash(f.name)) }

// writeModule writes the Go module, with the filter in it, as go fetches it.
func writeModule(p *Parts, folder string) error {
	files := make([]modzip.File, len(p.Files))
	for i, name := range p.Files {
		files[i] = sourceFile{p.Source, name}
	}
	tag := p.Build.Tag()
	var archive bytes.Buffer
	if err := modzip.Create(&archive, module.Version{Path: modulePath, Version: tag}, files); err != nil {
		return err
	}
	requirements, err := p.read("go.mod")
	if err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{tag, p.Time.UTC()})
	if err != nil {
		return err
	}
	at := proxyFolder + "/" + modulePath + "/@v/"
	for name, content := range map[string][]byte{
		"list": []byte(tag + "\n"), tag + ".info": append(info, '\n'), tag + ".mod": requirements,
		tag + ".zip": archive.Bytes(),
	} {
		if err := write(folder, at+name, content); err != nil {
			return err
		}
	}
	return nil
}
