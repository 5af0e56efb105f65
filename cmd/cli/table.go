package cli

import (
	"bytes"
	"crypto/rand"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"gridbroker/foreign"
)

// column is a heading of a table; right aligns numbers.
type column struct {
	name  string
	right bool
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

// table prints aligned columns without lines, the same on a terminal (where
// the headings are bold) and in a pipe.
func table(d *deps, cols []column, rows [][]string) error {
	heads := make([]string, len(cols))
	align := make(tw.Alignment, len(cols))
	for i, c := range cols {
		heads[i], align[i] = cell(d, styled(d, bold, c.name)), tw.AlignLeft
		if c.right {
			align[i] = tw.AlignRight
		}
	}
	var out bytes.Buffer
	t := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.LinesNone,
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithPadding(tw.Padding{Left: "", Right: "  ", Overwrite: true}),
		tablewriter.WithAlignment(align),
	)
	t.Header(heads)
	safe := make([][]string, len(rows))
	for i, row := range rows {
		for _, text := range row {
			safe[i] = append(safe[i], cell(d, text))
		}
	}
	if err := t.Bulk(safe); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	text := make([]byte, 0, out.Len())
	for line := range bytes.Lines(out.Bytes()) {
		text = append(append(text, bytes.TrimRight(line, " \n")...), '\n')
	}
	_, err := rawOut(d).Write(text) // every cell was made safe
	return err
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

// style marks text on a terminal; NO_COLOR turns it off.
func styled(d *deps, s style, text string) string {
	if !d.env.Terminal || d.env.Getenv("NO_COLOR") != "" || text == "" {
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

// cell makes a cell of a table safe: one line, no escape sequences but ours.
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
