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

func validShare(s string) bool {
	_, ok := Share(s)
	return ok
}
