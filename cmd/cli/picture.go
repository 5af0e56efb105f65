package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// picture draws lines on a terminal, each time in the place of those before. It
// writes over what is there instead of clearing it first: nothing flickers, and
// terminals that keep what was cleared (tmux) do not keep every picture.
type picture struct {
	out           io.Writer
	lines         int // of the picture that stands
	width, height int // of the terminal then
}

// size is that of the terminal now; false: there is none to ask.
func (p *picture) size() (width, height int, ok bool) {
	f, ok := p.out.(*os.File)
	if !ok {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return width, height, err == nil && width > 0 && height > 0
}

// draw replaces the picture. After a change of the terminal's size nobody knows
// where its lines are: the screen is begun anew then.
func (p *picture) draw(lines []string, width, height int) {
	var b strings.Builder
	switch {
	case p.lines == 0:
	case width != p.width || height != p.height:
		b.WriteString("\x1b[H\x1b[J")
	default:
		fmt.Fprintf(&b, "\x1b[%dA\r", p.lines)
	}
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	if len(lines) < p.lines {
		b.WriteString("\x1b[J")
	}
	p.lines, p.width, p.height = len(lines), width, height
	_, _ = io.WriteString(p.out, b.String()) // a terminal that is gone ends the command by SIGHUP
}
