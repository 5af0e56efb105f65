package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// calls are the system calls that change files.
const calls = "open,creat,openat,write,pwrite64,writev,pwritev,fsync,fdatasync,syncfs,sync,rename,renameat,renameat2,unlink,unlinkat,rmdir," +
	"mkdir,mkdirat,ftruncate,truncate,link,linkat,symlink,symlinkat,copy_file_range,sendfile,fallocate"

// needStrace leaves the test out where strace is missing or may not trace.
func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %s", out)
	}
}

// A call is one system call that succeeded.
type call struct {
	name string
	args []string
	ret  string
}

var (
	whole   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += (.*)$`)
	begun   = regexp.MustCompile(`^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$`)
	resumed = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (.*)$`)
)

// traced runs the command and returns its calls and those of whatever it
// started, in the order in which they were done.
func traced(t *testing.T, dir string, env []string, args ...string) []call {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "strace", append([]string{"-f", "-y", "-xx", "-s", "10000000", "-qq", "-e", "signal=none",
		"-e", "trace=" + calls, "-o", log}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []call
	open := map[string]string{} // thread -> arguments of a call that was not done yet
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		line := in.Text()
		if m := begun.FindStringSubmatch(line); m != nil {
			open[m[1]] = m[3]
			continue
		}
		if m := resumed.FindStringSubmatch(line); m != nil {
			line = fmt.Sprintf("%s %s(%s%s) = %s", m[1], m[2], open[m[1]], m[3], m[4])
		}
		if m := whole.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[4], "-") && !strings.HasPrefix(m[4], "?") {
			all = append(all, call{name: m[2], args: strings.Split(m[3], ", "), ret: m[4]})
		}
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return all
}

// text is the string of an argument as strace wrote it.
func text(arg string) []byte {
	arg = strings.Trim(arg, `"`)
	b, err := hex.DecodeString(strings.ReplaceAll(arg, `\x`, ""))
	if err != nil {
		return []byte(arg)
	}
	return b
}

// file is the path of a descriptor argument, and its number.
func file(arg string) (path string, fd int) {
	number, rest, _ := strings.Cut(arg, "<")
	fd, _ = strconv.Atoi(number)
	path, _, _ = strings.Cut(rest, ">")
	return string(text(path)), fd
}

// join is the path that a directory's descriptor and a name make.
func join(dir, name string) string {
	p := string(text(name))
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	base, _ := file(dir)
	return filepath.Join(base, p)
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(strings.Fields(s)[0], 0, 64)
	return n
}

// apply does on the model what the call did on the disk. Calls elsewhere
// change nothing.
func (d *disk) apply(t *testing.T, c call) {
	t.Helper()
	switch c.name {
	case "open", "openat":
		d.open(c)
	case "write":
		path, _ := file(c.args[0])
		if n := d.at(path); n != nil { // logs and new files alone are written without an offset: at the end
			d.write(n, int64(len(n.content(seen))), text(c.args[1])[:number(c.ret)])
		}
	case "pwrite64":
		path, _ := file(c.args[0])
		if n := d.at(path); n != nil {
			d.write(n, number(c.args[3]), text(c.args[1])[:number(c.ret)])
		}
	case "copy_file_range": // from the place in the one file that the other has reached
		from, _ := file(c.args[0])
		path, _ := file(c.args[2])
		if n, m := d.at(path), d.at(from); n != nil && m != nil {
			at := int64(len(n.content(seen)))
			d.write(n, at, m.content(seen)[at:at+number(c.ret)])
		}
	case "ftruncate":
		path, _ := file(c.args[0])
		if n := d.at(path); n != nil {
			d.truncate(n, number(c.args[1]))
		}
	case "fallocate":
		path, _ := file(c.args[0])
		if n := d.at(path); n != nil {
			d.truncate(n, max(int64(len(n.content(seen))), number(c.args[2])+number(c.args[3])))
		}
	case "fsync", "fdatasync":
		path, _ := file(c.args[0])
		if n := d.at(path); n != nil {
			d.sync(n)
		}
	case "syncfs", "sync":
		d.syncAll()
	default:
		d.applyName(t, c)
	}
}

func (d *disk) truncate(n *node, size int64) {
	n.data = append(n.data, &change{offset: size})
	d.marks++
}

func (d *disk) open(c call) {
	path, _ := file(c.ret)
	if _, ok := d.below(path); !ok {
		return
	}
	n := d.at(path)
	if n == nil && slices.ContainsFunc(c.args, func(a string) bool { return strings.Contains(a, "O_CREAT") }) {
		n = &node{}
		dir, name := d.parent(path)
		d.name(dir, name, n)
	}
	if n != nil && slices.ContainsFunc(c.args, func(a string) bool { return strings.Contains(a, "O_TRUNC") }) && len(n.content(seen)) > 0 {
		d.truncate(n, 0)
	}
}

// applyName is apply for the calls that change names.
func (d *disk) applyName(t *testing.T, c call) {
	t.Helper()
	switch c.name {
	case "mkdir", "mkdirat":
		d.named(parts(c), &node{dir: true})
	case "unlink", "rmdir", "unlinkat":
		d.named(parts(c), nil)
	case "rename":
		d.moved(join("<>", c.args[0]), join("<>", c.args[1]))
	case "renameat", "renameat2":
		d.moved(join(c.args[0], c.args[1]), join(c.args[2], c.args[3]))
	default:
		for _, arg := range c.args {
			path, _ := file(arg)
			if _, ok := d.below(path); ok {
				t.Fatalf("the model of the disk does not know %s(%s)", c.name, path)
			}
		}
	}
}

// queues tells whether the call puts a job of this machine into the queue.
func (c call) queues() bool {
	return c.name == "openat" && len(c.args) > 2 && strings.Contains(parts(c), "/queue/") && strings.Contains(c.args[2], "O_CREAT")
}

// parts is the path of a call with or without a directory's descriptor.
func parts(c call) string {
	if strings.HasSuffix(c.name, "at") {
		return join(c.args[0], c.args[1])
	}
	return join("<>", c.args[0])
}

func (d *disk) named(path string, to *node) {
	if dir, name := d.parent(path); dir != nil {
		d.name(dir, name, to)
	}
}

func (d *disk) moved(from, to string) {
	if d.at(from) != nil {
		d.rename(from, to)
	}
}

// said is what the call wrote to the descriptor of a process's standard
// output, nil for other calls.
func (c call) said(to string) []byte {
	if c.name != "write" {
		return nil
	}
	if path, _ := file(c.args[0]); path != to {
		return nil
	}
	return bytes.Clone(text(c.args[1]))
}
