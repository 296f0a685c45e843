package contract

import (
	"strconv"
	"strings"
)

// The values of [ModelSettings.Translate] other than a share.
const (
	TranslateAll     = "all"
	TranslateObserve = "observe"
)

// Share returns the share of the requests that are translated, in percent, and reports whether s is a value of
// [ModelSettings.Translate]. For [TranslateObserve] it is 0.
func Share(s string) (percent int, ok bool) {
	switch s {
	case TranslateAll:
		return 100, true
	case TranslateObserve:
		return 0, true
	}
	digits, ok := strings.CutSuffix(s, "%")
	percent, err := strconv.Atoi(digits)
	return percent, ok && err == nil && percent >= 0 && percent <= 100 && digits[0] != '+' && digits[0] != '-'
}

// TranslatedShare returns the share of the requests for the model that are translated, in percent. The others go to the
// API of the model's own servers, by the routes of [UntranslatedRoute].
func (m *ModelSettings) TranslatedShare() int {
	if percent, ok := Share(m.Translate); ok {
		return percent
	}
	return 100
}

// Observes reports whether the gateway reads the requests and answers that it does not translate, and counts.
func (m *ModelSettings) Observes() bool { return m.Translate == TranslateObserve }

// CannotPass returns the reason why requests for a model cannot go untranslated to its servers, which are of a kind, or
// an empty text if none need to, or all can.
func CannotPass(m *ModelSettings, kind *Kind, mode string) string {
	switch {
	case m.TranslatedShare() == 100 || kind == nil:
		return ""
	case mode == ModeReduced:
		return "must be all in reduced mode, where a request's way is chosen before the request is read"
	case len(kind.OwnAPI) == 0:
		return "must be all for servers of the kind " + kind.Name + ", which are not known to have " + ChatPath +
			" of their own; servers that have it can be of the kind " + Chat
	}
	return ""
}

// UntranslatedRoute returns the value of [PoolHeader] for an untranslated request to a pool's servers, at one of
// [Kind.OwnAPI]. No pool has such a name: it has a space.
func UntranslatedRoute(pool string) string { return pool + " untranslated" }

func validShare(s string) bool {
	_, ok := Share(s)
	return ok
}
