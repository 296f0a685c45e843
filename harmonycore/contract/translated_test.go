package contract

import (
	"slices"
	"strings"
	"testing"
)

func TestShare(t *testing.T) {
	for text, want := range map[string]int{
		"all": 100, "observe": 0, "0%": 0, "1%": 1, "10%": 10, "100%": 100,
		"": -1, "%": -1, "10": -1, "101%": -1, "-1%": -1, "+1%": -1, "1.5%": -1, "1 %": -1, "none": -1,
		"99999999999999999999%": -1,
	} {
		got, ok := Share(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	m := DefaultModel("m")
	if m.TranslatedShare() != 100 || m.Observes() {
		t.Error("requests are not translated by default")
	}
	if m.Translate = ""; m.TranslatedShare() != 100 {
		t.Error("an empty share is not the default")
	}
	if m.Translate = TranslateObserve; m.TranslatedShare() != 0 || !m.Observes() {
		t.Error("observing translates")
	}
}

// TestOwnAPI checks that the paths of servers' own APIs are those that the gateway translates, so that a pattern of
// routes and refusals holds for both.
func TestOwnAPI(t *testing.T) {
	for i := range kinds {
		for _, path := range kinds[i].OwnAPI {
			if path != ChatPath && path != ResponsesPath && path != MessagesPath {
				t.Errorf("%s has %s", kinds[i].Name, path)
			}
		}
		m := DefaultModel("m")
		if reason := CannotPass(&m.ModelSettings, &kinds[i], ModeFull); reason != "" {
			t.Errorf("%s: %s", kinds[i].Name, reason)
		}
		m.Translate = "50%"
		if reason := CannotPass(&m.ModelSettings, &kinds[i], ModeFull); (reason == "") != (len(kinds[i].OwnAPI) > 0) {
			t.Errorf("%s: %s", kinds[i].Name, reason)
		}
		if reason := CannotPass(&m.ModelSettings, &kinds[i], ModeReduced); !strings.Contains(reason, "reduced") {
			t.Errorf("%s in reduced mode: %q", kinds[i].Name, reason)
		}
	}
	if !slices.Contains(KindNamed(VLLM).OwnAPI, ChatPath) {
		t.Error("vLLM has no Chat")
	}
}
