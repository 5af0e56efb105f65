package cli

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette tells lines apart for the colour-blind too (Okabe and Ito, "Color
// universal design", 2008), dark ones first.
func palette(i int) color.Color {
	return []color.RGBA{
		{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
		{86, 180, 233, 255}, {230, 159, 0, 255}, {0, 0, 0, 255},
	}[i%7]
}

// figureSize is a width and a height in centimetres.
type figureSize struct{ width, height float64 }

// parseFigureSize reads "18x11".
func parseFigureSize(s string) (f figureSize, err error) {
	w, h, ok := strings.Cut(s, "x")
	if ok {
		f.width, err = strconv.ParseFloat(w, 64)
	}
	if ok && err == nil {
		f.height, err = strconv.ParseFloat(h, 64)
	}
	if !ok || err != nil || !(f.width >= 5 && f.width <= 200 && f.height >= 4 && f.height <= 200) {
		return f, fmt.Errorf("--plot-size %q: want WIDTHxHEIGHT in centimetres, as 18x11", s)
	}
	return f, nil
}

// sans is the style of a text: sans serif, size in points.
func sans(s *text.Style, size float64) {
	s.Font.Typeface, s.Font.Variant, s.Font.Size = "Liberation", "Sans", vg.Points(size)
	s.Color = color.Gray{40}
}

// newFigure is an empty figure with its title and axes.
func newFigure(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	sans(&p.Title.TextStyle, 12)
	p.Title.TextStyle.XAlign = draw.XCenter
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		sans(&axis.Label.TextStyle, 10)
		sans(&axis.Tick.Label, 9)
		axis.Color, axis.Tick.Color = color.Gray{120}, color.Gray{120}
		axis.Padding = 0
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	return p
}

// durations marks a logarithmic axis of seconds as people say them.
type durations struct{}

// Ticks implements plot.Ticker.
func (durations) Ticks(least, most float64) (list []plot.Tick) {
	for _, d := range []struct {
		seconds float64
		name    string
	}{
		{1, "≤ 1 s"}, {10, "10 s"}, {60, "1 min"}, {600, "10 min"}, {3600, "1 h"}, {6 * 3600, "6 h"}, {86400, "1 d"},
		{7 * 86400, "1 w"}, {30 * 86400, "30 d"}, {365 * 86400, "1 y"}, {3650 * 86400, "10 y"},
	} {
		if d.seconds >= least && d.seconds <= most {
			list = append(list, plot.Tick{Value: d.seconds, Label: d.name})
		}
	}
	return list
}

// shares marks an axis from 0 to 1 in per cent, in so many steps.
type shares struct{ steps int }

// Ticks implements plot.Ticker.
func (s shares) Ticks(_, _ float64) (list []plot.Tick) {
	for i := range s.steps + 1 {
		list = append(list, plot.Tick{Value: float64(i) / float64(s.steps), Label: fmt.Sprintf("%d %%", 100*i/s.steps)})
	}
	return list
}

// curve is a named line.
type curve struct {
	name string
	xy   plotter.XYs
}

// dashesOf tell lines apart that lie on each other, each dashed more finely than the one beneath.
func dashesOf(i int) []vg.Length {
	if i == 0 {
		return nil
	}
	return []vg.Length{vg.Points(max(3, 14-3*float64(i))), vg.Points(2 + float64(i))}
}

// addCurves draws lines, each thinner than the one before and with gaps through which
// those before are seen where they are equal.
func addCurves(p *plot.Plot, curves []curve) error {
	for i, c := range curves {
		if len(c.xy) == 0 {
			continue
		}
		line, err := plotter.NewLine(c.xy)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.StepStyle = palette(i), vg.Points(1.5+0.4*float64(len(curves)-1-i)), plotter.PostStep
		line.Dashes = dashesOf(i)
		p.Add(line)
	}
	return nil
}

// legend writes the names of the curves in their colours, in a row.
type legend struct {
	names []string
}

// width is how wide the row is.
func (l legend) width() (width vg.Length) {
	for _, name := range l.names {
		width += widthOf(name, 10) + vg.Points(42)
	}
	return width
}

// draw writes the row into the top of a canvas and returns what is left.
func (l legend) draw(c draw.Canvas) draw.Canvas {
	if len(l.names) < 2 {
		return c
	}
	style := text.Style{Handler: plot.DefaultTextHandler}
	sans(&style, 10)
	x, y := c.Center().X-l.width()/2, c.Max.Y-vg.Points(12)
	for i, name := range l.names {
		stroke := draw.LineStyle{Color: palette(i), Width: vg.Points(2.5), Dashes: dashesOf(i)}
		c.StrokeLine2(stroke, x, y+vg.Points(4), x+vg.Points(24), y+vg.Points(4))
		c.FillText(style, vg.Point{X: x + vg.Points(28), Y: y}, name)
		x += style.Width(name) + vg.Points(42)
	}
	return draw.Crop(c, 0, 0, 0, -vg.Points(20))
}

// saveFigure draws figures side by side, rows of columns, under a title.
func saveFigure(path, format string, size figureSize, title string, names []string, grid [][]*plot.Plot) error {
	w, h := vg.Length(size.width)*vg.Centimeter, vg.Length(size.height)*vg.Centimeter
	canvas, err := draw.NewFormattedCanvas(w, h, format)
	if err != nil {
		return err
	}
	// What the texts leave no room for is drawn larger, and scaled down whole.
	scale := min(1, float64(w/max(8.5*vg.Centimeter*vg.Length(len(grid[0])), legend{names}.width())), float64(h/((3+2*vg.Length(len(grid)))*vg.Centimeter)))
	canvas.Scale(scale, scale)
	c := draw.NewCanvas(canvas, w/vg.Length(scale), h/vg.Length(scale))
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, vg.Points(8), -vg.Points(14), vg.Points(6), -vg.Points(8))
	style := text.Style{Handler: plot.DefaultTextHandler, XAlign: draw.XCenter, YAlign: draw.YTop}
	sans(&style, math.Min(13, 13*float64(c.Size().X)/math.Max(1, float64(widthOf(title, 13)))))
	c.FillText(style, vg.Point{X: c.Center().X, Y: c.Max.Y}, title)
	c = legend{names}.draw(draw.Crop(c, 0, 0, 0, -vg.Points(20)))
	tiles := draw.Tiles{Rows: len(grid), Cols: len(grid[0]), PadX: vg.Points(14), PadY: vg.Points(10)}
	aligned := plot.Align(grid, tiles, c)
	for i, row := range grid {
		for k, p := range row {
			if p != nil {
				p.Draw(aligned[i][k])
			}
		}
	}
	return writeFigure(path, format, canvas)
}

// writeFigure writes what was drawn to a file.
func writeFigure(path, format string, drawn io.WriterTo) error {
	var b bytes.Buffer
	if _, err := drawn.WriteTo(&b); err != nil {
		return err
	}
	text := b.Bytes()
	if format == "svg" {
		text = fitTexts(text)
	}
	return writeWhole(filepath.Clean(path), text, 0o644)
}

// fitTexts gives each text of an SVG the width for which room was left: where its font is not installed
// another one is shown, mostly a wider one, and titles would be cut and names run into bars.
func fitTexts(svg []byte) []byte {
	texts := regexp.MustCompile(`<text ([^>]*font-family:)([^;>]*)(;[^>]*font-size:([0-9.]+)px[^>]*>)([^<]+)</text>`)
	return texts.ReplaceAllFunc(svg, func(whole []byte) []byte {
		m := texts.FindSubmatch(whole)
		size, err := strconv.ParseFloat(string(m[4]), 64)
		width := widthOf(html.UnescapeString(string(m[5])), size).Points()
		if err != nil || width <= 0 {
			return whole
		}
		return fmt.Appendf(nil, `<text textLength="%.2f" lengthAdjust="spacingAndGlyphs" %s%s,Arial,Helvetica,sans-serif%s%s</text>`, width, m[1], m[2], m[3], m[5])
	})
}

// widthOf is how wide a text is in points.
func widthOf(s string, size float64) vg.Length {
	style := text.Style{Handler: plot.DefaultTextHandler}
	sans(&style, size)
	return style.Width(s)
}
