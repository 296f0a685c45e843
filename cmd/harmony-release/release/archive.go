package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"time"
)

// file is a file of an archive. A name that ends with a slash is a folder.
type file struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

// makeTar returns a tar archive of files, in their order, which belong to root unless they say otherwise.
func makeTar(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner,
			Size: int64(len(f.content)), ModTime: at, Format: tar.FormatUSTAR}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// compress returns data packed by gzip, without a name and a time.
func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// licenses are the files of the sources that go with every program.
var licenses = []string{"LICENSE", "NOTICE"}

// besides returns what an archive has besides the program: manual pages, units for systemd and a compose file, as
// files below a folder.
func (p *Parts) besides(folder string) (files []file, err error) {
	add := func(name string, text []byte) {
		files = append(files, file{name: folder + "/" + name, mode: 0o644, content: text})
	}
	for _, page := range p.Manual {
		add("man/man1/"+page.Name, page.Text)
	}
	for _, from := range []string{"systemd", "compose"} {
		for _, name := range p.Files {
			if rest, ok := strings.CutPrefix(name, "examples/"+from+"/"); ok {
				text, err := p.read(name)
				if err != nil {
					return nil, err
				}
				add(from+"/"+rest, text)
			}
		}
	}
	return files, nil
}

func writePrograms(p *Parts, folder string) error {
	for _, program := range p.Programs {
		name := p.name(productName, "-"+program.Platform.String())
		files := []file{{name: name + "/harmony", mode: 0o755, content: program.Content}}
		for _, l := range licenses {
			text, err := p.read(l)
			if err != nil {
				return err
			}
			files = append(files, file{name: name + "/" + l, mode: 0o644, content: text})
		}
		besides, err := p.besides(name)
		if err != nil {
			return err
		}
		archive, err := makeTar(append(files, besides...), p.Time)
		if err != nil {
			return err
		}
		if archive, err = compress(archive); err != nil {
			return err
		}
		if err := write(folder, name+".tar.gz", archive); err != nil {
			return err
		}
	}
	return nil
}

func writeFilter(p *Parts, folder string) error {
	return write(folder, p.name("harmony-filter", ".wasm"), p.Filter)
}

func writeSource(p *Parts, folder string) error {
	archive, err := compress(p.Archive)
	if err != nil {
		return err
	}
	return write(folder, p.name(productName, "-source.tar.gz"), archive)
}

func writeSchemas(p *Parts, folder string) error {
	text, err := p.read("operator/config/schema.json")
	if err != nil {
		return err
	}
	return write(folder, p.name("harmony-config", ".schema.json"), text)
}
