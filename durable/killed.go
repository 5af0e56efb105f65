package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// DiscardKilled removes this user's files and directories of processes that were killed: their names are a
// word that ends in "-", the process and more. Others may write to the directory and take such names: what is not
// the user's own stays, root's commands included.
func DiscardKilled(dir, word string) {
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		rest, ours := strings.CutPrefix(e.Name(), word)
		text, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(text)
		if !ours || err != nil || pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}
