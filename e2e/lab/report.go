package lab

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// WriteTable writes a table whose columns are aligned in the source too.
func WriteTable(out io.Writer, head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	write := func(row []string) {
		for i, cell := range row {
			fmt.Fprintf(out, "| %s%s ", cell, strings.Repeat(" ", width[i]-len([]rune(cell))))
		}
		fmt.Fprintln(out, "|")
	}
	write(head)
	for i := range head {
		fmt.Fprint(out, "|", strings.Repeat("-", width[i]+2))
	}
	fmt.Fprintln(out, "|")
	for _, row := range rows {
		write(row)
	}
	fmt.Fprintln(out)
}

// Machine describes the machine that the figures were measured on.
func Machine() string {
	model := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(info); m != nil {
			model = string(m[1])
		}
	}
	return fmt.Sprintf("%s with %d cores", model, runtime.NumCPU())
}
