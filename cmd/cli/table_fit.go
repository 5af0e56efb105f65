package cli

import (
	"slices"
	"strings"
)

// Widths of columns with text on a narrow terminal: what they are cut to before
// columns are left out, and where there is nothing to leave out.
const (
	easyWidth  = 10
	wordWidth  = 8 // a column of short words is whole as long as another one is wider
	leastWidth = 4
	keyWidth   = 10 // how much more is left of the column that tells lines apart, where no id does
)

// spare says which columns a narrow terminal can do without, the first first.
func spare(cols []column, names ...string) []column {
	for i := range cols {
		for at, name := range names {
			if cols[i].name == name {
				cols[i].spare = len(names) - at
			}
		}
	}
	return cols
}

// fitting is a table that is made to fit a terminal. Elsewhere nothing is cut.
type fitting struct {
	cols   []column
	widths []int
	fixed  []bool // numbers, ids, colours: not to be cut
	out    []bool // left out
	key    int    // the column that tells lines apart; -1: an id does
	room   int
}

// fit cuts and leaves out until the lines, the first of which has the headings,
// are no wider than the terminal: first columns in which nothing stands, then
// those that can be spared, then texts, the longest first.
func fit(d *deps, cols []column, widths []int, lines [][]tableCell) {
	f := &fitting{cols: cols, widths: widths, fixed: make([]bool, len(cols)), out: make([]bool, len(cols)), key: -1, room: d.env.Width}
	if f.width(0) <= f.room {
		return
	}
	filled := make([]bool, len(cols))
	for i, c := range cols {
		f.fixed[i] = c.right || c.name == "ID" || c.name == "JOB"
	}
	if first := slices.IndexFunc(cols, func(c column) bool { return !c.right }); first >= 0 && !f.fixed[first] {
		f.key = first
	}
	for _, line := range lines[1:] {
		for i, c := range line {
			filled[i] = filled[i] || c.text != ""
			f.fixed[i] = f.fixed[i] || strings.Contains(c.text, "\x1b")
		}
	}
	for i := range cols {
		f.out[i] = !filled[i] && len(lines) > 1 && cols[i].spare > 0
	}
	f.leaveOut()
	f.cut()
	for at, line := range lines {
		for i := range line {
			switch {
			case f.out[i]:
				line[i] = tableCell{}
			case line[i].width > widths[i] && at == 0:
				line[i] = tableCell{cell(d, styled(d, bold, middle(cols[i].name, widths[i]))), widths[i]}
			case line[i].width > widths[i] && !f.fixed[i]:
				text := middle(line[i].text, widths[i])
				line[i] = tableCell{text, displayed(text)}
			}
		}
	}
	for i := range cols {
		if f.out[i] {
			widths[i] = -len(between)
		}
	}
}

// width is that of the whole table were texts cut to at most so much; 0: as they are.
func (f *fitting) width(text int) int {
	all := -len(between)
	for i, w := range f.widths {
		if f.out[i] {
			continue
		}
		if text > 0 && !f.fixed[i] {
			w = min(w, text+f.more(i))
		}
		all += w + len(between)
	}
	return all
}

// more is how much wider than other texts a column may be.
func (f *fitting) more(i int) int {
	if i == f.key {
		return keyWidth
	}
	return 0
}

func (f *fitting) leaveOut() {
	for f.width(easyWidth) > f.room {
		next := -1
		for i, c := range f.cols {
			if !f.out[i] && c.spare > 0 && (next < 0 || c.spare > f.cols[next].spare) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		f.out[next] = true
	}
}

func (f *fitting) cut() {
	for _, least := range []int{wordWidth, leastWidth} {
		for over := f.width(0) - f.room; over > 0; over-- {
			widest := f.widest(least)
			if widest < 0 {
				break
			}
			f.widths[widest]--
		}
	}
}

// widest is the column to be cut next, of those wider than so much; -1: there is none.
func (f *fitting) widest(least int) int {
	widest := -1
	for i, w := range f.widths {
		if !f.out[i] && !f.fixed[i] && w > least && (widest < 0 || w-f.more(i) > f.widths[widest]-f.more(widest)) {
			widest = i
		}
	}
	return widest
}
