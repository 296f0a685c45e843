package follow

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/harmonyedge/harmonyedge/internal/watch"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Options say what a [Follower] reads. One of File, Config and KeysFile is set.
type Options struct {
	// File is the path of the operator's file. It is read again whenever it changes, or a file to which it refers.
	File string
	// Config is a configuration without a file, or from a pipe. It does not change, and the files to which it refers are
	// read once.
	Config *config.Config
	// KeysFile is the path of a keys file, for a program that needs nothing else.
	KeysFile string
	// Adjust applies a program's flags to each configuration that is read from File. It may be nil.
	Adjust func(*config.Config) error
	// Needs are the parts of the file that this program reads beside the configuration itself.
	Needs Needs
	// Log receives what the system says of watching files. If it is nil, nothing is logged.
	Log *slog.Logger
}

// Needs are what a program reads beside the configuration itself. Values that it does not need may be absent from its
// machine.
type Needs struct {
	// Secret reports whether the program needs the value of a secret. Nil: it needs none.
	Secret func(r *config.Resolved, name string) bool
	// RefuseSecrets is why a configuration that has a secret of Secret is refused, or "": it is not refused.
	RefuseSecrets string
	// Clients reports whether the program needs the keys file. ClientsFor reports it for a configuration, if it is not
	// nil.
	Clients    bool
	ClientsFor func(c *config.Config) bool
	// Files returns further files that parts read when they take a version. Nil: there are none.
	Files func(c *config.Config) []string
}

// Every is a [Needs].Secret for programs that need each secret that the configuration uses.
func Every(r *config.Resolved, name string) bool { return r.Config.Uses(name) }

// Follower reads the operator's file. [Open] makes one, and one goroutine at a time may use it.
type Follower struct {
	o        Options
	files    *watch.Files // nil if nothing changes
	accepted *Version     // the last version that was accepted, or nil
}

// Open returns a follower that has read nothing yet. The caller must call [Follower.Close].
func Open(o Options) *Follower {
	f := &Follower{o: o}
	if f.file() != "" {
		f.files = watch.New(o.Log)
	}
	return f
}

// Close ends the watching of files.
func (f *Follower) Close() {
	if f.files != nil {
		f.files.Close()
	}
}

// Changed returns a channel that receives a value when a file has changed. It is nil if nothing can change.
func (f *Follower) Changed() <-chan struct{} {
	if f.files == nil {
		return nil
	}
	return f.files.Changed()
}

// file returns the path of what is followed, or "".
func (f *Follower) file() string {
	if f.o.KeysFile != "" {
		return f.o.KeysFile
	}
	return f.o.File
}

// Read reads the file and all that it refers to. All of it is watched before it is read, so that no later change is
// missed. The error has the file and the line of a mistake.
func (f *Follower) Read() (*Version, error) {
	f.watch(nil, false)
	if f.o.KeysFile != "" {
		keys, err := clients.Load(f.o.KeysFile)
		if err != nil {
			return nil, err
		}
		return &Version{Secrets: map[string]config.SecretValue{}, Clients: keys}, nil
	}
	v, err := f.read()
	return v, f.Locate(err)
}

func (f *Follower) read() (*Version, error) {
	c := f.o.Config
	if f.o.File != "" {
		var err error
		if c, err = config.Load(f.o.File); err != nil {
			return nil, err
		}
		if f.o.Adjust != nil {
			if err = f.o.Adjust(c); err != nil {
				return nil, err
			}
		}
	}
	resolved, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	v := &Version{Config: c, Resolved: resolved, Secrets: map[string]config.SecretValue{}}
	f.watch(v, false)
	if f.o.Needs.Files != nil {
		v.files = hashes(f.o.Needs.Files(c))
	}
	for i := range c.Secrets {
		if !f.needs(v, &c.Secrets[i]) {
			continue
		}
		if why := f.o.Needs.RefuseSecrets; why != "" {
			return nil, &config.Error{Field: fmt.Sprintf("secrets[%d]", i), Reason: why}
		}
		if v.Secrets[c.Secrets[i].Name], err = c.SecretValue(i); err != nil {
			return nil, err
		}
	}
	if f.needsClients(c) {
		v.Clients, err = ReadClients(c)
	}
	return v, err
}

func (f *Follower) needsClients(c *config.Config) bool {
	n := &f.o.Needs
	return n.Clients || n.ClientsFor != nil && n.ClientsFor(c)
}

func (f *Follower) needs(v *Version, s *config.Secret) bool {
	return f.o.Needs.Secret != nil && f.o.Needs.Secret(v.Resolved, s.Name)
}

// ReadClients reads the keys file of a configuration. Without one the result is nil.
func ReadClients(c *config.Config) (*clients.File, error) {
	if c.Clients.KeysFile == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	keys, err := clients.Load(c.Clients.KeysFile)
	if err != nil {
		return nil, &config.Error{Field: "clients.keys_file", Reason: err.Error()}
	}
	return keys, nil
}

// Accept says that a version is in force: what it refers to is watched from now on, and no longer what an earlier one
// did.
func (f *Follower) Accept(v *Version) {
	f.accepted = v
	f.watch(v, true)
}

// Locate adds the file and the line to an error about a setting.
func (f *Follower) Locate(err error) error {
	var e *config.Error
	if f.o.File == "" || !errors.As(err, &e) {
		return err
	}
	return config.Locate(err, f.o.File)
}

// watch sets the files whose changes make everything be read again. The pools' watcher follows servers files by itself.
// They are in the set only while a version is not in force, because one of them may be the reason.
func (f *Follower) watch(next *Version, inForce bool) {
	if f.files == nil {
		return
	}
	files := []string{f.file()}
	if f.accepted != nil && !inForce {
		files = append(files, f.filesOf(f.accepted)...)
	}
	if next != nil {
		files = append(files, f.filesOf(next)...)
		if !inForce && next.Resolved != nil {
			for i := range next.Resolved.Pools {
				files = append(files, next.Resolved.Pools[i].ServersFile)
			}
			files = append(files, next.Config.CAFile)
		}
	}
	f.files.Set(slices.DeleteFunc(files, func(file string) bool { return file == "" }))
}

// filesOf returns the files of the secrets, of the keys and of models' templates that a version needs.
func (f *Follower) filesOf(v *Version) []string {
	if v.Config == nil {
		return nil
	}
	var files []string
	if f.needsClients(v.Config) {
		files = append(files, v.Config.Clients.KeysFile)
	}
	for i := range v.Config.Secrets {
		if s := &v.Config.Secrets[i]; f.needs(v, s) {
			files = append(files, s.File, s.Certificate, s.Key)
		}
	}
	for i := range v.Config.Models {
		files = append(files, v.Config.Models[i].ResponseTemplate)
	}
	if f.o.Needs.Files != nil {
		files = append(files, f.o.Needs.Files(v.Config)...)
	}
	return files
}
