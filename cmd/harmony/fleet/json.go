package fleet

import (
	"encoding/json"
	"io"

	"github.com/harmonyedge/harmonyedge/controlplane/probe"
)

// printJSON prints a value for scripts.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// probeJSON is what harmony probe has found, for scripts.
type probeJSON struct {
	URL string `json:"url"`
	// Usable reports whether the gateway can use the server, and Problem is why not.
	Usable  bool     `json:"usable"`
	Problem string   `json:"problem,omitempty"`
	Program string   `json:"program"`
	Models  []string `json:"models"`
	// Asked is the model that was asked, Kind is what the gateway uses the server as, and Context is in tokens, 0 if the
	// server does not tell.
	Asked   string      `json:"asked"`
	Kind    string      `json:"kind,omitempty"`
	Context int         `json:"context"`
	Kinds   []probeKind `json:"kinds"`
	// Texts are how many texts have the gateway's ids there, other ids, or the same text in other pieces.
	Texts probeTexts `json:"texts"`
	// Configuration is the file for the server, in YAML.
	Configuration string `json:"configuration,omitempty"`
	Command       string `json:"command,omitempty"`
}

type probeKind struct {
	Kind    string `json:"kind"`
	Works   bool   `json:"works"`
	Problem string `json:"problem,omitempty"`
}

type probeTexts struct {
	Same  int `json:"same"`
	Split int `json:"split"`
	Other int `json:"other"`
}

func (o *probeOutput) json() probeJSON {
	r := o.report
	found := probeJSON{URL: o.URL(), Problem: r.Problem(), Usable: r.Problem() == "", Program: r.Program(),
		Models: append([]string{}, r.Models...), Asked: r.Model, Context: r.Context, Kinds: []probeKind{},
		Texts:         probeTexts{r.Texts.Same, r.Texts.Split, r.Texts.Other},
		Configuration: o.File(), Command: o.Command()}
	if k := r.Kind(); k != nil {
		found.Kind = k.Name
	}
	for i := range r.Kinds {
		found.Kinds = append(found.Kinds, kindJSON(&r.Kinds[i]))
	}
	return found
}

func kindJSON(k *probe.Kind) probeKind { return probeKind{k.Name, k.Works(), k.Problem} }
