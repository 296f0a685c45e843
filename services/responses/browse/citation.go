package browse

import "strings"

// A Citation is a url_citation: a link in a text, and the page that it leads to.
//
// OpenAI's schema says that indices count characters. Here they are Unicode's code points, as in the reference
// server and in Python's strings. In JavaScript they are indices into Array.from(text). The link's spaces belong to it,
// so a text without its citations is what the model wrote without its markers.
type Citation struct {
	// Start is the index of the link's first character, and End the index of the first after it.
	Start, End int
	URL, Title string
}

// MarshalJSON writes the annotation.
func (c Citation) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Type  string `json:"type"`
		Start int    `json:"start_index"`
		End   int    `json:"end_index"`
		URL   string `json:"url"`
		Title string `json:"title"`
	}{"url_citation", c.Start, c.End, c.URL, c.Title}), nil
}

// linkTo returns the Markdown of a link to an [address]. In Markdown a bracket ends a link, but not in a URI, so the
// link has it quoted and the citation has not.
func linkTo(url string) string {
	return " ([" + site(url) + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(url) + ")) "
}
