package batch

// groups are the groups of ends behind which Slurm looks whether a job could start. All
// reach from one barrier, half a minute of the clock behind the first end that matters: the
// first group for half a minute, each other one twice as far as the one before, or by
// bf_window_linear farther, as often as it takes to have the next end in it. The later
// a start is, the coarser is what Slurm knows of it.
type groups struct {
	barrier int64 // 0: none yet
	width   int64 // how far behind it this group reaches
	linear  int64 // bf_window_linear; 0: twice as far
}

// barrier is the step of the clock, in seconds, from which groups reach, and how far the
// first does.
const barrier = 30

// begin sets the barrier behind a first end.
func (g *groups) begin(end int64) {
	if g.barrier == 0 {
		g.barrier = end + barrier - end%barrier
	}
}

// covers tells whether the group reaches an end.
func (g *groups) covers(end int64) bool { return end <= g.barrier+g.width }

// widen makes the next group, which has the next end in it, where there is one.
func (g *groups) widen(next int64, more bool) {
	if g.linear > 0 {
		g.width += g.linear
		if beyond := next - g.barrier - g.width; more && beyond > 0 {
			g.width += (beyond + g.linear - 1) / g.linear * g.linear
		}
		return
	}
	g.width *= 2
	for more && !g.covers(next) {
		g.width *= 2
	}
}
