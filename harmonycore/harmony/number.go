package harmony

import (
	"math"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// json prints a value as the reference does: compact, members in their order, numbers as appendNumber prints them.
func (w *schemaWriter) json(v *rawjson.Value, depth int) {
	if depth > rawjson.MaxDepth && w.err == nil {
		w.err = &RenderError{Kind: SchemaTooDeep, Message: "default value nested deeper than 128 levels"}
	}
	if w.err != nil {
		return
	}
	switch v.Kind {
	case rawjson.Bool:
		w.dst = strconv.AppendBool(w.dst, v.Bool)
	case rawjson.Number:
		var ok bool
		if w.dst, ok = appendNumber(w.dst, v.Text); !ok {
			w.err = &RenderError{Kind: NumberOutOfRange, Message: "number out of range"}
		}
	case rawjson.String:
		w.dst = rawjson.AppendString(w.dst, v.Text)
	case rawjson.Array:
		w.put("[")
		for i := range v.Elements {
			if i > 0 {
				w.put(",")
			}
			w.json(&v.Elements[i], depth+1)
		}
		w.put("]")
	case rawjson.Object:
		w.put("{")
		for i := range v.Members {
			if i > 0 {
				w.put(",")
			}
			w.dst = rawjson.AppendString(w.dst, v.Members[i].Key)
			w.put(":")
			w.json(&v.Members[i].Value, depth+1)
		}
		w.put("}")
	default:
		w.put("null")
	}
}

// appendNumber appends a JSON number as the reference prints it back (docs/harmony-format.md#defaults). An integer of
// 64 bits stays as it is. Any other number becomes the shortest digits of the double that the reference reads.
// appendNumber reports false if the number is out of range.
func appendNumber(dst []byte, text string) ([]byte, bool) {
	if !strings.ContainsAny(text, ".eE") && text != "-0" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.AppendInt(dst, n, 10), true
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return strconv.AppendUint(dst, n, 10), true
		}
	}
	f, ok := readDouble(text)
	if !ok {
		return dst, false
	}
	return appendDouble(dst, f), true
}

// readDouble reads a JSON number as the reference does, without correct rounding (docs/harmony-format.md#numbers). It
// first converts the digits that fit 64 bits, and then scales by a power of ten. It reports false if the number is out
// of range.
func readDouble(text string) (float64, bool) {
	text, negative := strings.CutPrefix(text, "-")
	var significand uint64
	exponent, at := 0, 0
	full := false
	push := func(c byte) bool {
		d := uint64(c - '0')
		if full || significand > math.MaxUint64/10 || significand*10 > math.MaxUint64-d {
			full = true
			return false
		}
		significand = significand*10 + d
		return true
	}
	for ; at < len(text) && isDigit(text[at]); at++ {
		if !push(text[at]) {
			exponent++
		}
	}
	if at < len(text) && text[at] == '.' {
		full = false
		for at++; at < len(text) && isDigit(text[at]); at++ {
			if push(text[at]) {
				exponent--
			}
		}
	}
	if at < len(text) {
		exponent += readExponent(text[at+1:])
	}
	f, inRange := scale(float64(significand), exponent)
	if negative {
		f = -f
	}
	return f, inRange
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// maxExponent is so large that the result is zero or infinity whatever the digits are.
const maxExponent = 1 << 26

// readExponent reads the text after the e. It limits the exponent to maxExponent.
func readExponent(text string) int {
	n := 0
	for i := range len(text) {
		if isDigit(text[i]) && n < maxExponent {
			n = n*10 + int(text[i]-'0')
		}
	}
	if n = min(n, maxExponent); strings.HasPrefix(text, "-") {
		return -n
	}
	return n
}

func scale(f float64, exponent int) (float64, bool) {
	for exponent < -308 {
		if f == 0 {
			return f, true
		}
		f /= 1e308
		exponent += 308
	}
	switch {
	case exponent < 0:
		return f / powerOfTen(-exponent), true
	case exponent > 308:
		return f, f == 0
	}
	f *= powerOfTen(exponent)
	return f, !math.IsInf(f, 0)
}

// powerOfTen returns 10 to the power n, correctly rounded. math.Pow10 does not promise that.
func powerOfTen(n int) float64 {
	f, err := strconv.ParseFloat("1e"+strconv.Itoa(n), 64)
	if err != nil {
		return math.Inf(1)
	}
	return f
}

// appendDouble appends the shortest digits that read back as f, in the layout of docs/harmony-format.md#defaults.
func appendDouble(dst []byte, f float64) []byte {
	if math.Signbit(f) {
		dst = append(dst, '-')
		f = -f
	}
	if f == 0 {
		return append(dst, "0.0"...)
	}
	var buf [32]byte
	text := string(strconv.AppendFloat(buf[:0], f, 'e', -1, 64))
	mantissa, power, _ := strings.Cut(text, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	exponent, err := strconv.Atoi(power)
	if err != nil {
		return append(dst, text...)
	}
	// point is the number of digits before the decimal point.
	point := exponent + 1
	switch {
	case point >= len(digits) && point <= 16:
		dst = append(dst, digits...)
		for range point - len(digits) {
			dst = append(dst, '0')
		}
		return append(dst, ".0"...)
	case point > 0 && point <= 16:
		return append(append(append(dst, digits[:point]...), '.'), digits[point:]...)
	case point > -5 && point <= 0:
		dst = append(dst, "0."...)
		for range -point {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	return strconv.AppendInt(append(dst, 'e'), int64(exponent), 10)
}
