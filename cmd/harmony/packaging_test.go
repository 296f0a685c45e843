package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// checkCommandLine fails the test if the program has no such command or flag.
func checkCommandLine(t *testing.T, where string, args []string) {
	t.Helper()
	c, rest, err := root().Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateRequiredFlags()
	}
	if err != nil || !c.Runnable() {
		t.Errorf("%s: harmony %s: %v", where, strings.Join(args, " "), err)
	}
}

// TestUnits: the commands of the units for systemd are commands of the program, each waits long enough for streams to
// end, and each may do as little as the others. tools/check-packaging.sh asks systemd itself.
func TestUnits(t *testing.T) {
	units, err := filepath.Glob("../../examples/systemd/*.service")
	if err != nil || len(units) != 4 {
		t.Fatal(units, err)
	}
	command := regexp.MustCompile(`(?m)^Exec(?:Start|Stop)=/usr/local/bin/harmony (.*)$`)
	var hardening string
	for _, unit := range units {
		data, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		found := command.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s: no command of this program", unit)
		}
		for _, m := range found {
			checkCommandLine(t, unit, strings.Fields(m[1]))
		}
		if strings.Contains(text, "--drain-time 5m") && !regexp.MustCompile(`TimeoutStopSec=3[1-9]\d\n`).MatchString(text) {
			t.Errorf("%s: systemd kills it before its streams have ended", unit)
		}
		if strings.Contains(text, "harmony up") && !strings.Contains(text, "KillMode=mixed\n") {
			t.Errorf("%s: systemd stops Envoy while streams run", unit)
		}
		_, limits, _ := strings.Cut(text, "\nCapabilityBoundingSet=")
		if hardening == "" {
			hardening = limits
		}
		if limits == "" || limits != hardening {
			t.Errorf("%s may do other things than %s", unit, units[0])
		}
	}
}

// composeFile is what a test reads of a compose file.
type composeFile struct {
	Services map[string]struct {
		Image     string
		Command   []string
		Volumes   []string
		Networks  []string
		DependsOn map[string]any    `yaml:"depends_on"`
		Env       map[string]string `yaml:"environment"`
		ReadOnly  bool              `yaml:"read_only"`
	}
	Networks, Volumes map[string]any
}

// TestCompose: the commands of the compose file are commands of the program, what a service names is there, and two
// services that speak to each other have a network in common. Its configuration is right.
func TestCompose(t *testing.T) {
	data, err := os.ReadFile("../../examples/compose/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file composeFile
	// A service may have a value of its own instead of one that it shares.
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	own := 0
	for name, s := range file.Services {
		if strings.Contains(s.Image, "/harmony-edge/harmony:") {
			own++
			checkCommandLine(t, name, s.Command)
		}
		if !s.ReadOnly && name != "postgres" && name != "redis" {
			t.Errorf("%s may write everywhere", name)
		}
		for other := range s.DependsOn {
			if _, ok := file.Services[other]; !ok {
				t.Errorf("%s waits for %s, which is not there", name, other)
			}
		}
		for _, network := range s.Networks {
			if _, ok := file.Networks[network]; !ok {
				t.Errorf("%s has the network %s, which is not there", name, network)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, ok := file.Volumes[source]; !ok && !strings.HasPrefix(source, "./") {
				t.Errorf("%s has the volume %s, which is not there", name, source)
			}
		}
	}
	if own != 4 {
		t.Errorf("%d services run this program, want 4", own)
	}
	for _, pair := range [][2]string{{"envoy", "controlplane"}, {"envoy", "responses"}, {"envoy", "limits"},
		{"responses", "postgres"}, {"limits", "redis"}} {
		a, b := file.Services[pair[0]].Networks, file.Services[pair[1]].Networks
		if !slices.ContainsFunc(a, func(n string) bool { return slices.Contains(b, n) }) {
			t.Errorf("%s and %s have no network in common", pair[0], pair[1])
		}
	}
	if c, err := config.Load("../../examples/compose/config.yaml"); err != nil {
		t.Error(err)
	} else if len(c.Models) == 0 {
		t.Error("the configuration has no model")
	}
}
