package environment

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a kernel shares out between all of a node's processes, if nobody takes care, is the job's own: memory and queues of
// System V, control groups, settings; nor does it see what its process 1 has open.
func TestNothingOfTheNodeIsShared(t *testing.T) {
	const key = 0x67726964
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		t.Skip("no memory of System V: ", err)
	}
	t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		script := `grep -c ` + strconv.Itoa(key) + ` /proc/sysvipc/shm
			grep -v -E ':/$' /proc/self/cgroup
			echo x 2>/dev/null >/proc/sys/net/ipv4/ip_forward || echo no
			for f in /proc/1/fd/* /proc/1/task/1/fd/* /proc/1/exe /proc/1/cwd /proc/1/map_files/*; do readlink $f; cat $f/ 2>/dev/null; done
			echo end`
		if out, code := n.sh(script); out != "0\nno\nend" || code != 0 {
			t.Errorf("%q, %d", strings.TrimSpace(out), code)
		}
	})
}
