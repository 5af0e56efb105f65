package cli

import (
	"bytes"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
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
func (a *app) table(cols []column, rows [][]string) error {
	heads := make([]string, len(cols))
	align := make(tw.Alignment, len(cols))
	for i, c := range cols {
		heads[i], align[i] = a.style(bold, c.name), tw.AlignLeft
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
	if err := t.Bulk(rows); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	text := make([]byte, 0, out.Len())
	for line := range bytes.Lines(out.Bytes()) {
		text = append(append(text, bytes.TrimRight(line, " \n")...), '\n')
	}
	_, err := a.env.Out.Write(text)
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
func (a *app) style(s style, text string) string {
	if !a.env.Terminal || a.env.Getenv("NO_COLOR") != "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
