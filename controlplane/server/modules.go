package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/internal/atomicfile"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
	"github.com/harmonyedge/harmonyedge/internal/watch"
)

// maxFilters is how many Envoys are sent the filter at once. A copy of it is held for each of them until it has read
// it, which takes an Envoy a tenth of a second on the same network.
const maxFilters = 8

// module is a filter that Envoys get from here.
type module struct {
	filterfile.Info
	content []byte
	since   time.Time // when it was read
}

// modules holds the contents that variants of the filter's configuration get at the moment they are sent. Its methods
// may be called by several goroutines at once.
type modules struct {
	mu  sync.Mutex
	all []module // the newest last
}

// add holds one more module. It drops all others but those with the checksums in keep.
func (m *modules) add(one module, keep []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(old module) bool {
		return !slices.Contains(keep, old.SHA256) || old.SHA256 == one.SHA256
	})
	m.all = append(m.all, one)
}

// find returns the module with this checksum, or the zero module.
func (m *modules) find(sha256 string) module {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.all {
		if one.SHA256 == sha256 {
			return one
		}
	}
	return module{}
}

func (m *modules) content(sha256 string) []byte { return m.find(sha256).content }

// vary is [xds.Vary] with the modules held here.
func (m *modules) vary(config *corev3.TypedExtensionConfig, variant uint32) *corev3.TypedExtensionConfig {
	return xds.Vary(config, variant, m.content)
}

// ModuleError is the error for a filter's file that is refused.
type ModuleError struct {
	File string
	Err  error
}

// Error implements error.
func (e *ModuleError) Error() string { return e.File + " " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ModuleError) Unwrap() error { return e.Err }

// modulePath returns what the filter's configuration names as the module's path.
func (s *Server) modulePath() string {
	if s.options.ModulePath != "" {
		return s.options.ModulePath
	}
	return xds.Reference(s.inForce().SHA256)
}

// loadModule reads the filter that Envoys get, and reports whether it is another one than before. A file that is not a
// whole filter is an error, which is logged once, and the last good filter stays in force.
func (s *Server) loadModule() (changed bool, err error) {
	if s.options.ModulePath != "" {
		return false, nil
	}
	next, err := s.readModule()
	before, logged := s.module, s.moduleErr
	changed = err == nil && next.SHA256 != before.SHA256
	// The log and the metrics come first: who reads of it in the status finds it there too.
	switch {
	case before.SHA256 == "" && err != nil: // the caller returns it
	case err != nil && (logged == nil || logged.Error() != err.Error()):
		s.log.Error("the filter's file is refused; the last good one stays in force", "error", err)
	case changed:
		s.modules.add(next, s.keptModules())
		s.log.Info("the filter is read", "from", s.moduleSource(), "version", next.Version, "sha256", next.SHA256)
	case err == nil && logged != nil:
		s.log.Info("the filter's file is whole again", "file", s.options.ModuleFile, "version", next.Version)
	}
	s.metrics.moduleLoaded(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moduleErr = err
	if changed {
		s.module = next
	}
	return changed, err
}

// moduleSource says where the filter comes from.
func (s *Server) moduleSource() string {
	if s.options.Module != nil {
		return "this program"
	}
	return s.options.ModuleFile
}

func (s *Server) readModule() (module, error) {
	if content := s.options.Module; content != nil {
		info, err := filterfile.Read(content)
		if err != nil {
			return module{}, &ModuleError{File: "the filter", Err: err}
		}
		return module{Info: info, content: content, since: time.Now()}, nil
	}
	file := s.options.ModuleFile
	s.moduleFiles.Set([]string{file}) // before it is read, so no later change is missed
	content, err := watch.Read(file, filterfile.MaxSize)
	if err != nil {
		return module{}, &ModuleError{File: file, Err: readError(err)}
	}
	info, err := filterfile.Read(content)
	if err != nil {
		return module{}, &ModuleError{File: file, Err: err}
	}
	return module{Info: info, content: content, since: time.Now()}, nil
}

// readError returns the reason of an error of a file, without the path, which the caller names.
func readError(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// changeModule sends Envoys a filter whose file has changed.
func (s *Server) changeModule(ctx context.Context) {
	changed, err := s.loadModule()
	if err != nil || !changed {
		return // what is wrong has been logged
	}
	s.ownModuleChanged()
	if s.current != nil { // else the next configuration brings the filter
		s.sendModule(ctx)
	}
	s.endSplit()
}

// sendModule sends Envoys the filter that is to be in force.
func (s *Server) sendModule(ctx context.Context) {
	r, err := s.build(s.current)
	if err == nil {
		_, err = s.push(ctx, r, false)
	}
	s.mu.Lock()
	s.pushErr = err
	s.mu.Unlock()
	if err != nil {
		s.log.Error("the filter is not sent to Envoys; they keep the one that they have", "error", err)
		return
	}
	s.log.Info("the filter is in force", "versions", s.ads.Versions())
}

// referenced returns the checksum of the module that resources refer to, or "".
func referenced(r ads.Resources) string {
	for _, one := range r[resource.ExtensionConfigType] {
		if config, ok := one.(*corev3.TypedExtensionConfig); ok {
			if sum := xds.Referenced(config); sum != "" {
				return sum
			}
		}
	}
	return ""
}

const savedModulePrefix, savedModuleSuffix = "filter-", ".wasm"

func (s *Server) savedModule(sha256 string) string {
	return filepath.Join(s.options.StateDir, savedModulePrefix+sha256+savedModuleSuffix)
}

// saveModule saves the module that resources refer to beside the snapshot, unless it is there already.
func (s *Server) saveModule(sha256 string) error {
	if sha256 == "" {
		return nil
	}
	content := s.modules.content(sha256)
	if content == nil {
		return fmt.Errorf("the filter with the checksum %s is not held any more", sha256) // cannot happen
	}
	if saved, err := os.ReadFile(s.savedModule(sha256)); err == nil && bytes.Equal(saved, content) {
		return nil
	}
	return atomicfile.Write(s.savedModule(sha256), content, 0o600)
}

// dropModules removes saved modules but the one that the saved snapshot refers to, and the modules of a rollout.
func (s *Server) dropModules(sha256 string) {
	saved, _ := os.ReadDir(s.options.StateDir)
	keep := append(s.rolloutModules(), sha256) // after the folder is read: a rollout may begin meanwhile
	for _, one := range saved {
		sum, ok := strings.CutPrefix(one.Name(), savedModulePrefix)
		if !ok {
			continue
		}
		if sum, ok = strings.CutSuffix(sum, savedModuleSuffix); ok && !slices.Contains(keep, sum) {
			os.Remove(filepath.Join(s.options.StateDir, one.Name()))
		}
	}
}

// restoreModule reads the saved module that a saved snapshot refers to. It is in force until the filter's own file is
// read.
func (s *Server) restoreModule(r ads.Resources) error {
	sum := referenced(r)
	if sum == "" {
		return nil
	}
	restored, err := s.readSavedModule(sum)
	if err != nil {
		return err
	}
	s.modules.add(restored, append(s.keptModules(), sum))
	s.mu.Lock()
	s.module = restored
	s.mu.Unlock()
	return nil
}

// readSavedModule reads the saved module with this checksum.
func (s *Server) readSavedModule(sum string) (module, error) {
	file := s.savedModule(sum)
	content, err := watch.Read(file, filterfile.MaxSize)
	if err != nil {
		return module{}, &ModuleError{File: file, Err: readError(err)}
	}
	info, err := filterfile.Read(content)
	if err == nil && info.SHA256 != sum {
		err = errors.New("is another filter than the snapshot's")
	}
	if err != nil {
		return module{}, &ModuleError{File: file, Err: err}
	}
	return module{Info: info, content: content, since: time.Now()}, nil
}
