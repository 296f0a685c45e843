package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// machine is what [Config.MissingHere] looks at.
type machine struct {
	find     func(program string) error
	stat     func(path string) (fs.FileInfo, error)
	writable func(path string) bool
	variable func(name string) string
	empty    func(path string) bool
}

// mayWrite asks access(2) whether a file can be written.
const mayWrite = 2

var thisMachine = machine{
	find: func(program string) error {
		_, err := exec.LookPath(program)
		return err
	},
	stat:     os.Stat,
	writable: func(path string) bool { return syscall.Access(path, mayWrite) == nil },
	variable: os.Getenv,
	empty: func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.TrimSpace(string(text)) == ""
	},
}

// MissingHere returns what the configuration needs and this machine does not have: programs, files, folders and the
// values of secrets, and secrets that others may read. The programs that need them may run elsewhere, so these are no
// mistakes.
func (c *Config) MissingHere() []*Error { return c.missingOn(&thisMachine) }

func (c *Config) missingOn(m *machine) []*Error {
	p := &problems{}
	for i := range c.Secrets {
		if s := &c.Secrets[i]; c.Uses(s.Name) {
			m.checkSecret(s, p.under(fmt.Sprintf("secrets[%d].", i)))
		}
	}
	c.ResponsesService.Tools.missing(m, p.under("responses_service.tools."))
	service := p.under("responses_service.")
	if store := c.ResponsesService.Store; store != "" && !strings.Contains(store, "://") {
		m.checkFolder("store", store, "the responses service runs", service)
	}
	m.checkFolder("access_log", c.ResponsesService.AccessLog, "the responses service runs", service)
	m.checkFolder("access_log", c.AccessLog, "Envoys run", p.under(""))
	if c.CAFile != "" {
		m.exists("ca_file", c.CAFile, "Envoys run", p.under(""))
	}
	return p.all
}

// missing checks the programs and the headers of MCP servers.
func (t *Tools) missing(m *machine, fail failure) {
	for i := range t.Servers {
		s, at := &t.Servers[i], fmt.Sprintf("servers[%d].", i)
		if len(s.Command) > 0 {
			if err := m.find(s.Command[0]); err != nil {
				fail(at+"command[0]", "%s is no program on this machine, or not in PATH; install it where the responses service "+
					"runs, or write its path", s.Command[0])
			}
		}
		if s.HeadersFile != "" && m.exists(at+"headers_file", s.HeadersFile, "the responses service runs", fail) {
			m.checkPrivate(at+"headers_file", s.HeadersFile, fail)
		}
	}
}

// checkSecret checks the value of a secret.
func (m *machine) checkSecret(s *Secret, fail failure) {
	const where = "the control plane runs"
	if s.Env != "" && strings.TrimSpace(m.variable(s.Env)) == "" {
		fail("env", "%s is not set here, or is empty; set it in the environment of the control plane", s.Env)
	}
	if s.File != "" && m.exists("file", s.File, where, fail) {
		if m.empty(s.File) {
			fail("file", "%s is empty; write the token into it", s.File)
		}
		m.checkPrivate("file", s.File, fail)
	}
	if s.Certificate != "" {
		m.exists("certificate", s.Certificate, where, fail)
	}
	if s.Key != "" && m.exists("key", s.Key, where, fail) {
		m.checkPrivate("key", s.Key, fail)
	}
}

// exists reports whether a file exists. where is the place that needs it.
func (m *machine) exists(field, file, where string, fail failure) bool {
	_, err := m.stat(file)
	if err != nil {
		fail(field, "%s cannot be read here: %s; put it where %s", file, reason(err), where)
	}
	return err == nil
}

// checkPrivate checks that only its owner may read a file with a secret.
func (m *machine) checkPrivate(field, file string, fail failure) {
	if info, err := m.stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
		fail(field, "other users may read %s (mode %#o); run chmod 600 %[1]s", file, info.Mode().Perm())
	}
}

// checkFolder checks that a file can be written. where is the place that needs it.
func (m *machine) checkFolder(field, file, where string, fail failure) {
	if file == "" {
		return
	}
	if _, err := m.stat(file); err == nil {
		if !m.writable(file) {
			fail(field, "this user cannot write %s; let the user write it under whom %s", file, where)
		}
		return
	}
	folder := filepath.Dir(file)
	info, err := m.stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fail(field, "there is no folder %s here; make it where %s: mkdir -p %[1]s", folder, where)
	case err != nil:
		fail(field, "the folder %s cannot be read here: %s", folder, reason(err))
	case !info.IsDir():
		fail(field, "%s is not a folder; write another path", folder)
	case !m.writable(folder):
		fail(field, "this user cannot write into the folder %s; let the user write there under whom %s", folder, where)
	}
}
