package config

import filterconfig "github.com/harmonyedge/harmonyedge/filter/config"

// Efforts are each "low", "medium", "high" or "refuse". Empty: the default.
type Efforts struct {
	None    string `yaml:"none" jsonschema:"enum=low,enum=medium,enum=high,enum=refuse"`
	Minimal string `yaml:"minimal" jsonschema:"enum=low,enum=medium,enum=high,enum=refuse"`
	XHigh   string `yaml:"xhigh" jsonschema:"enum=low,enum=medium,enum=high,enum=refuse"`
	Max     string `yaml:"max" jsonschema:"enum=low,enum=medium,enum=high,enum=refuse"`
}

// effortWord is a setting of Efforts: its name, what it says, and where the filter has it.
type effortWord struct {
	name, word string
	filter     *string
}

func (e *Efforts) words(f *filterconfig.Efforts) [4]effortWord {
	return [...]effortWord{
		{"none", e.None, &f.None}, {"minimal", e.Minimal, &f.Minimal}, {"xhigh", e.XHigh, &f.XHigh}, {"max", e.Max, &f.Max},
	}
}

// fillRequests puts what is said about requests in place of the filter's defaults.
func (m *Model) fillRequests(f *filterconfig.Model) {
	for _, e := range m.ReasoningEfforts.words(&f.ReasoningEfforts) {
		if e.word != "" {
			*e.filter = e.word
		}
	}
	f.DropCommentaryFromHistory = m.DropCommentaryFromHistory
	if m.UnsupportedContent != "" {
		f.UnsupportedContent = m.UnsupportedContent
	}
	if m.ServerExtras != nil {
		f.ServerExtras = m.ServerExtras
	}
}
