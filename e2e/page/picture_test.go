//go:build e2e

package page

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"slices"
)

// smaller returns a picture in PNG with 256 colours, which is a third of the size. The page has few colours; the others
// are those of the edges of letters.
func smaller(picture []byte) ([]byte, error) {
	all, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	bounds := all.Bounds()
	counts := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(all, x, y)]++
		}
	}
	palette := paletteOf(counts)
	indexes := map[color.RGBA]uint8{}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(all, x, y)
			index, ok := indexes[c]
			if !ok {
				index = uint8(palette.Index(c))
				indexes[c] = index
			}
			small.SetColorIndex(x, y, index)
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}

func at(i image.Image, x, y int) color.RGBA {
	r, g, b, _ := i.At(x, y).RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
}

// paletteOf returns the most frequent colours that are not too near to a more frequent one.
func paletteOf(counts map[color.RGBA]int) color.Palette {
	type counted struct {
		c color.RGBA
		n int
	}
	all := make([]counted, 0, len(counts))
	for c, n := range counts {
		all = append(all, counted{c, n})
	}
	slices.SortFunc(all, func(a, b counted) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return int(a.c.R-b.c.R)<<16 + int(a.c.G-b.c.G)<<8 + int(a.c.B-b.c.B) // any order, always the same
	})
	var palette color.Palette
	for near := 24; len(palette) < 256 && near >= 0; near -= 8 {
		for _, one := range all {
			if len(palette) == 256 {
				break
			}
			if len(palette) == 0 || distance(palette[palette.Index(one.c)], one.c) > near {
				palette = append(palette, one.c)
			}
		}
	}
	return palette
}

func distance(a color.Color, b color.RGBA) int {
	c := a.(color.RGBA)
	abs := func(d int) int { return max(d, -d) }
	return abs(int(c.R)-int(b.R)) + abs(int(c.G)-int(b.G)) + abs(int(c.B)-int(b.B))
}
