package browse

import (
	"strings"
	"unicode/utf8"
)

// A Citer rewrites a final text as it comes: 【3†L5-L7】 becomes a link to the page with cursor 3, with a [Citation]. How
// the text is cut into pieces makes no difference. A marker stays as it is if its page has no URL that is known.
//
// The automaton reads a character at a time. In the state outside it returns each. In all others it holds back what has
// come of a marker, at most maxHeld characters; a character that no marker has there lets go of everything held.
type Citer struct {
	pages *Pages
	state markerState
	// rest has the bytes of a character whose end has not come.
	rest string
	// held is what has come of a marker, and heldCount how many characters that is.
	held      strings.Builder
	heldCount int
	cursor    int
	// out and cited are what a Write returns.
	out   strings.Builder
	cited []Citation
	// count is how many characters were returned, and linked how many bytes of them are links.
	count, linked int
}

// markerState is what has come of a marker.
type markerState int

const (
	outside    markerState = iota // nothing
	afterOpen                     // 【
	inCursor                      // 【3
	afterCross                    // 【3†
	afterLine                     // 【3†L
	inLines                       // 【3†L5
	afterSite                     // 【3†L5†
	inSite                        // 【3†L5†e
	complete                      // 【3†L5】
)

const (
	openMark  = '【'
	closeMark = '】'
	crossMark = '†'
)

const (
	// maxHeld is how long a marker may be, in characters.
	maxHeld = 64
	// maxLinked is how many bytes of links a text may get. A marker is short and a URL can be long, so an answer could
	// grow without bound. Markers after that stay as they are.
	maxLinked = 256 << 10
)

// NewCiter returns a citer for one text. Without pages nothing is cited.
func NewCiter(pages *Pages) *Citer { return &Citer{pages: pages} }

// Cite rewrites a whole text.
func Cite(pages *Pages, text string) (string, []Citation) {
	c := NewCiter(pages)
	out, cited := c.Write(text)
	return out + c.End(), cited
}

// Write takes the next piece of the text. It returns what follows what was returned before, and the citations in it.
// Bytes that are no UTF-8 become U+FFFD.
func (c *Citer) Write(text string) (out string, cited []Citation) {
	if c.rest != "" {
		text, c.rest = c.rest+text, ""
	}
	for len(text) > 0 {
		if !utf8.FullRuneInString(text) {
			c.rest = text
			break
		}
		r, size := utf8.DecodeRuneInString(text)
		c.take(r)
		text = text[size:]
	}
	out, cited = c.out.String(), c.cited
	c.out.Reset()
	c.cited = nil
	return out, cited
}

// End returns what is held back at the text's end.
func (c *Citer) End() (out string) {
	for range len(c.rest) {
		c.take(utf8.RuneError)
	}
	c.rest = ""
	c.release()
	out = c.out.String()
	c.out.Reset()
	return out
}

func (c *Citer) take(r rune) {
	if r == openMark {
		c.release() // no marker has another in it
	} else if c.state == outside {
		c.out.WriteRune(r)
		c.count++
		return
	}
	c.held.WriteRune(r)
	c.heldCount++
	next := c.next(r)
	switch {
	case next == outside || c.heldCount > maxHeld:
		c.release()
	case next == complete:
		c.cite()
	default:
		c.state = next
	}
}

// next returns the state after a character of a marker, or outside if no marker has it there.
func (c *Citer) next(r rune) markerState {
	digit := '0' <= r && r <= '9'
	switch c.state {
	case outside:
		c.cursor = 0
		return afterOpen
	case afterOpen, inCursor:
		if digit && c.cursor <= largest/10 {
			c.cursor = 10*c.cursor + int(r-'0')
			return inCursor
		}
		if r == crossMark && c.state == inCursor {
			return afterCross
		}
	case afterCross:
		// Anything but a line is a link that the model has copied from a page. Its number is the link's, and no cursor.
		if r == 'L' {
			return afterLine
		}
	case afterLine:
		if digit {
			return inLines
		}
	case inLines, inSite:
		switch {
		case r == closeMark:
			return complete
		case r == crossMark && c.state == inLines:
			return afterSite
		case r >= ' ' && r != crossMark:
			return c.state
		}
	case afterSite:
		if r >= ' ' && r != crossMark && r != closeMark {
			return inSite
		}
	}
	return outside
}

// release lets go of what is held.
func (c *Citer) release() {
	c.out.WriteString(c.held.String())
	c.count += c.heldCount
	c.reset()
}

func (c *Citer) reset() {
	c.held.Reset()
	c.heldCount, c.state = 0, outside
}

// cite puts a link instead of the marker that is held.
func (c *Citer) cite() {
	cited := c.pages.at(c.cursor)
	if cited == nil || cited.url == "" {
		c.release()
		return
	}
	link := linkTo(cited.url)
	if c.linked+len(link) > maxLinked {
		c.release()
		return
	}
	c.reset()
	title := cited.title
	if title == "" {
		title = site(cited.url)
	}
	c.out.WriteString(link)
	c.linked += len(link)
	start := c.count
	c.count += len(link) // all of it is ASCII
	c.cited = append(c.cited, Citation{Start: start, End: c.count, URL: cited.url, Title: title})
}
