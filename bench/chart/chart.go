// Package chart draws what the pictures of docs/bench have in common. It knows SVG. It does not know what is measured.
package chart

import "fmt"

// Page returns an SVG of a size in pixels, with what is drawn on it. Titles have the class "title". style has further
// classes.
func Page(width, height int, style string, drawn []byte) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" `+
		"font-family=\"sans-serif\" font-size=\"12\">\n<style>.title{font-size:14px;font-weight:bold}%[3]s</style>\n"+
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%[4]s</svg>\n", width, height, style, drawn)
}
