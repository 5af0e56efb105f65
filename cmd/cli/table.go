package cli

import (
	"bytes"
	"crypto/rand"
	"io"
	"strings"

	"gridbroker/foreign"
)

// column is a heading of a table; right aligns numbers. A column that is spare
// above 0 a narrow terminal does without, the greatest first.
type column struct {
	name  string
	right bool
	spare int
}

// columns makes headings; a name that starts with ">" is aligned right.
func columns(names ...string) []column {
	cols := make([]column, len(names))
	for i, n := range names {
		cols[i] = column{name: n}
		if n[0] == '>' {
			cols[i] = column{name: n[1:], right: true}
		}
	}
	return cols
}

// between stands between the columns of a table.
const between = "  "

// table prints aligned columns without lines, the same on a terminal (where
// the headings are bold and nothing is wider than it) and in a pipe. A row may be shorter than the
// headings; without rows the headings stand alone.
func table(d *deps, cols []column, rows [][]string) error {
	head := make([]string, len(cols))
	for i, c := range cols {
		head[i] = styled(d, bold, c.name)
	}
	lines := make([][]tableCell, 0, len(rows)+1)
	cells := make([]tableCell, (len(rows)+1)*len(cols))
	widths := make([]int, len(cols))
	for _, row := range append([][]string{head}, rows...) {
		var line []tableCell
		line, cells = cells[:min(len(row), len(cols))], cells[len(cols):]
		for i := range line {
			text := strings.TrimSpace(cell(d, row[i]))
			line[i] = tableCell{text: text, width: displayed(text)}
			widths[i] = max(widths[i], line[i].width)
		}
		lines = append(lines, line)
	}
	if d.env.Terminal && d.env.Width > 0 {
		fit(d, cols, widths, lines)
	}
	var out bytes.Buffer
	for _, line := range lines {
		writeLine(&out, cols, widths, line)
	}
	_, err := rawOut(d).Write(out.Bytes()) // every cell was made safe
	return err
}

// tableCell is a cell as it is written, and how many columns of a terminal it takes.
type tableCell struct {
	text  string
	width int
}

// writeLine writes a line of a table, without spaces at its end.
func writeLine(out *bytes.Buffer, cols []column, widths []int, line []tableCell) {
	blank := 0 // spaces that are due when more follows
	for i, c := range line {
		room := widths[i] - c.width
		if cols[i].right {
			blank, room = blank+room, 0
		}
		if c.text != "" {
			for range blank {
				out.WriteByte(' ')
			}
			out.WriteString(c.text)
			blank = 0
		}
		blank += room + len(between)
	}
	out.WriteByte('\n')
}

// style is an ANSI select-graphic-rendition code (ECMA-48 section 8.3.117).
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// styled marks text on a terminal.
func styled(d *deps, s style, text string) string {
	if !coloured(d) || text == "" {
		return text
	}
	return mark(d, s) + text + mark(d, plain)
}

// plain ends what a style began.
const plain style = "0"

// mark stands for an escape sequence of our own until it is written: with
// something random in it, so that no text of others can have it.
// Like the sequence it begins with ESC and ends with the first m.
func mark(d *deps, s style) string { return "\x1b" + d.nonce + ";" + string(s) + "m" }

// marks is what the marks stand for.
func marks(d *deps) map[string]string {
	own := map[string]string{}
	for _, s := range []style{bold, dim, red, green, yellow, cyan, plain} {
		own[mark(d, s)] = "\x1b[" + string(s) + "m"
	}
	return own
}

// oneLine makes text one line of what goes through the writer of standard output,
// which shows our own styles and no other escape sequences.
func oneLine(d *deps, text string) string { return keepingOwn(d, text, foreign.Text) }

// keepingOwn escapes text but for our own styles.
func keepingOwn(d *deps, text string, escape func(string) string) string {
	if !strings.Contains(text, "\x1b") {
		return escape(text)
	}
	same := map[string]string{}
	for m := range marks(d) {
		same[m] = m
	}
	return foreign.Between(text, same, escape)
}

// cell makes a cell of a table, which is written as it is, safe: one line, no escape
// sequences but ours.
func cell(d *deps, text string) string {
	if !d.env.Terminal {
		return foreign.Text(text)
	}
	return foreign.Between(text, marks(d), foreign.Text)
}

// rawOut is standard output for what is safe already, or must not be changed.
func rawOut(d *deps) io.Writer {
	if w, ok := d.env.Out.(*foreign.Writer); ok {
		return w.W
	}
	return d.env.Out
}

// guard makes standard error, and standard output where it is a terminal, fit
// for text of others.
func guard(d *deps) {
	d.nonce = rand.Text()
	d.rawErr = d.env.Err
	d.env.Err = &foreign.Writer{W: together(d.env.Err), Own: marks(d)}
	if d.env.Terminal {
		d.env.Out = &foreign.Writer{W: d.env.Out, Own: marks(d)}
	}
}
