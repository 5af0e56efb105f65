package readahead

import "fmt"

// Params describes a simulated program and the system it runs on. Times are in
// units of one block over the local network.
type Params struct {
	Ops      int     `json:"ops"`      // reads of one branch
	Branches int     `json:"branches"` // equal branches, one on a node each
	Remote   int     `json:"remote"`   // files outside the system
	Local    int     `json:"local"`    // files on the system's disks
	Weight   float64 `json:"weight"`   // how often a remote file is chosen, a local one being 1
	Next     float64 `json:"p"`        // probability that a read goes on where the last one of its file ended
	PerRead  int64   `json:"q"`        // blocks of one read
	Portion  int64   `json:"m"`        // blocks of one portion
	Blocks   int64   `json:"blocks"`   // blocks of a branch's part of a file

	Wide      float64 `json:"wan"`       // delay of a request over the wide network
	WideBlock float64 `json:"wan_block"` // time of one block over the wide network
	LanBlock  float64 `json:"lan_block"` // time of one block over the local network
	Disk      float64 `json:"disk"`      // delay of a local file's disk
	Cell      float64 `json:"cell"`      // time to read a block from a cell
	Write     float64 `json:"write"`     // time to write a block into a cell
	Look      float64 `json:"look"`      // time of a look-up in the table
	Think     float64 `json:"think"`     // computing after every read

	NodeCells   int   `json:"node_cells"`
	SystemCells int   `json:"sys_cells"`
	Ahead       int64 `json:"ahead"`     // portions a node asks for ahead
	SystemAhead int64 `json:"sys_ahead"` // portions a system asks for ahead
	Cache       bool  `json:"cache"`     // false: every block is fetched by itself
	When        When  `json:"when"`      // when look-ahead is issued
	Link        Link  `json:"link"`      // how transfers share the wide network
	TurnOff     bool  `json:"turn_off"`  // look-ahead stops where it does not pay; see Benefit
}

// When says at which end of a read look-ahead is issued.
type When string

// The moments of look-ahead.
const (
	AtStart When = "start"
	AtEnd   When = "end"
)

// Link says how transfers over the wide network share it.
type Link string

// The kinds of link: pure delays; one transfer of blocks at a time with delays
// that overlap; one request at a time.
const (
	Delay    Link = "delay"
	Serial   Link = "serial"
	Blocking Link = "blocking"
)

// DefaultParams returns the plainest setting that gives the published result:
// four remote files, half of all reads go on, a remote read costs 110 local ones.
func DefaultParams() Params {
	return Params{
		Ops: 300, Branches: 1, Remote: 4, Weight: 1, Next: 0.5, PerRead: 1, Portion: 1, Blocks: 10000,
		Wide: 108, WideBlock: 1, LanBlock: 1, NodeCells: 64, SystemCells: 256, Ahead: 1, SystemAhead: 1,
		Cache: true, When: AtStart, Link: Delay,
	}
}

// Check finds values that make no model.
func (p *Params) Check() error {
	for _, v := range []struct {
		name     string
		got      float64
		from, to float64
	}{
		{"ops", float64(p.Ops), 1, 1e8}, {"branches", float64(p.Branches), 1, 1e5},
		{"remote", float64(p.Remote), 0, 1e5}, {"local", float64(p.Local), 0, 1e5}, {"weight", p.Weight, 1e-6, 1e6},
		{"p", p.Next, 0, 1}, {"q", float64(p.PerRead), 1, 1e6}, {"m", float64(p.Portion), 1, 1e6},
		{"blocks", float64(p.Blocks), float64(p.PerRead), 1e12},
		{"wan", p.Wide, 0, 1e9}, {"wan_block", p.WideBlock, 0, 1e9}, {"lan_block", p.LanBlock, 0, 1e9},
		{"disk", p.Disk, 0, 1e9}, {"cell", p.Cell, 0, 1e9}, {"write", p.Write, 0, 1e9}, {"look", p.Look, 0, 1e9},
		{"think", p.Think, 0, 1e9}, {"node_cells", float64(p.NodeCells), 1, 1e8},
		{"sys_cells", float64(p.SystemCells), 1, 1e8}, {"ahead", float64(p.Ahead), 0, 1e4},
		{"sys_ahead", float64(p.SystemAhead), 0, 1e4}, {"remote + local", float64(p.Remote + p.Local), 1, 1e5},
	} {
		if !(v.got >= v.from && v.got <= v.to) {
			return fmt.Errorf("%s = %g: want a number from %g to %g", v.name, v.got, v.from, v.to)
		}
	}
	if err := p.bounded(); err != nil {
		return err
	}
	if p.When != AtStart && p.When != AtEnd {
		return fmt.Errorf("when = %q: want start or end", p.When)
	}
	if p.Link != Delay && p.Link != Serial && p.Link != Blocking {
		return fmt.Errorf("link = %q: want delay, serial or blocking", p.Link)
	}
	return nil
}

// What a run may cost: a minute or so for look-ups, a few gigabytes for what it remembers.
const (
	maxLookUps  = 1e9
	maxRemember = 5e7
)

// bounded finds runs that would not end, or not fit into memory.
func (p *Params) bounded() error {
	lookUps := float64(p.Ops) * float64(p.Branches) * float64(p.PerRead) * (1 + float64(p.Ahead)*(1+float64(p.SystemAhead)))
	if lookUps > maxLookUps {
		return fmt.Errorf("ops x branches x q x (1 + ahead x (1 + sys_ahead)) = %.3g look-ups: want %g at most", lookUps, float64(maxLookUps))
	}
	if files := float64(p.Branches) * float64(p.Remote+p.Local); files > maxRemember {
		return fmt.Errorf("branches x (remote + local) = %.3g files: want %g at most", files, float64(maxRemember))
	}
	cells := float64(p.Branches)*float64(p.NodeCells) + float64(p.SystemCells)
	if most := min(cells, 2*lookUps); most > maxRemember {
		return fmt.Errorf("branches x node_cells + sys_cells = %.3g cells in use: want %g at most", most, float64(maxRemember))
	}
	return nil
}
