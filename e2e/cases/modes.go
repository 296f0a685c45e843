//go:build e2e

package cases

import ()

// capabilities are what full mode has and reduced mode lacks, by the names that cases give in reduced_differs, each
// with what its lack changes for a client. The list is closed: a case that shows something else in reduced mode for
// another reason is a mistake. No case is left out in reduced mode; each has one model, which is all that the mode
// wants.
var capabilities = map[string]string{
	"choice-by-length": "the headers go to a server before the length of the prompt is known, so a model has one pool",
	"held-headers": "status and content type are sent before the first token is known, so what fails later is told in " +
		"the body, or cut",
}

// ReducedView is what the case must show in reduced mode, and what is wrong with how the case says so, or an empty
// string.
func (c *Case) ReducedView() (want, mistake string) {
	want = c.Member(WantReduced)
	_, known := capabilities[c.ReducedDiffers]
	switch {
	case c.ReducedDiffers != "" && !known:
		return want, "reduced_differs names " + c.ReducedDiffers + ", which is not in the list of capabilities"
	case want == "" && c.ReducedDiffers != "":
		return c.Member("want"), "reduced_differs is set, and nothing differs"
	case want != "" && c.ReducedDiffers == "":
		return want, "it differs in reduced mode, and reduced_differs does not say for lack of what"
	case want != "" && want == c.Member("want"):
		return want, "the member " + WantReduced + " says the same as want"
	case want == "":
		return c.Member("want"), ""
	}
	return want, ""
}
