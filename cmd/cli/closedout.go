package cli

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"gridbroker/jobs"
)

// closedOut reports whether a standard stream was closed by the caller. The program's start opens the null device in its
// place, for reading, too, so that no file gets its number: one that a caller has opened just so himself cannot be told from that.
func closedOut(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	is, err := f.Stat()
	if err != nil || !os.SameFile(null, is) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// mostIDs is how many ids are told on standard error.
const mostIDs = 10

// sayWhereIDs tells the ids of jobs that were recorded where standard output is closed, which would have had them.
func sayWhereIDs(d *deps, rs []*jobs.Outcome) {
	if !d.env.Closed || len(rs) == 0 {
		return
	}
	var ids []string
	for _, r := range rs[:min(len(rs), mostIDs)] {
		ids = append(ids, r.ID)
	}
	more := ""
	if len(rs) > mostIDs {
		more = " ..."
	}
	sayErr(d, "standard output is closed: the ids of %s are %s%s (grid list has them)", counted(len(rs), "job"), strings.Join(ids, " "), more)
}
