package main_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"gridbroker/testdata/testbed"
)

// rogueLogin is a login node that lies: an SSH server which runs commands with stand-ins of a batch
// system's before all others on the PATH. A victim has an account there.
type rogueLogin struct {
	*victim
	addr string
	base string // of our jobs there
	bin  string

	mu   sync.Mutex
	sftp sftp.Handlers
}

func newRogueLogin(t *testing.T) *rogueLogin {
	t.Helper()
	v := newVictim(t)
	r := &rogueLogin{victim: v, base: filepath.Join(t.TempDir(), "base"), bin: t.TempDir()}
	host, _ := newSSHKey(t)
	user, key := newSSHKey(t)
	conf := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if bytes.Equal(key.Marshal(), user.PublicKey().Marshal()) {
			return nil, nil
		}
		return nil, errors.New("no such key")
	}}
	conf.AddHostKey(host)
	r.addr = testbed.Listen(t, func(conn net.Conn) { r.serve(conn, conf) })
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(v.dir, ".ssh")
	err = errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(home, "id_ed25519"), pem.EncodeToMemory(block), 0o600),
		os.WriteFile(filepath.Join(home, "known_hosts"), []byte(knownhosts.Line([]string{r.addr}, host.PublicKey())+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	r.slurm()
	return r
}

func newSSHKey(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s, key
}

func (r *rogueLogin) serve(conn net.Conn, conf *ssh.ServerConfig) {
	_, chans, reqs, err := ssh.NewServerConn(conn, conf)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	for c := range chans {
		if ch, reqs, err := c.Accept(); err == nil {
			go r.session(ch, reqs)
		}
	}
}

func (r *rogueLogin) session(ch ssh.Channel, reqs <-chan *ssh.Request) {
	for req := range reqs {
		var text struct{ S string }
		_ = ssh.Unmarshal(req.Payload, &text)
		_ = req.Reply(req.Type == "exec" || req.Type == "subsystem", nil)
		switch req.Type {
		case "exec":
			go r.run(text.S, ch)
		case "subsystem":
			go r.files(ch)
		}
	}
}

func (r *rogueLogin) files(ch ssh.Channel) {
	defer ch.Close()
	r.mu.Lock()
	handlers := r.sftp
	r.mu.Unlock()
	if handlers.FileList != nil {
		_ = sftp.NewRequestServer(ch, handlers).Serve()
	} else if s, err := sftp.NewServer(ch); err == nil {
		_ = s.Serve()
	}
}

func (r *rogueLogin) run(line string, ch ssh.Channel) {
	defer ch.Close()
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = []string{"PATH=" + r.bin + ":" + os.Getenv("PATH"), "HOME=" + filepath.Dir(r.base)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = ch, ch, ch.Stderr(), time.Second
	_ = cmd.Run()
	_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(cmd.ProcessState.ExitCode())}))
}

func (r *rogueLogin) serves(h sftp.Handlers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sftp = h
}

func (r *rogueLogin) url(scheme string) string { return scheme + "+ssh://" + r.addr + r.base }

func (r *rogueLogin) script(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

const rogueNode = "NodeName=n1 Arch=x86_64 CPUAlloc=0 CPUEfctv=64 CPUTot=64 ActiveFeatures=x OS=Linux 6 RealMemory=64000 AllocMem=0 State=IDLE TmpDisk=9 Partitions=main Version=24"

// slurm makes the node a harmless one of Slurm.
func (r *rogueLogin) slurm() {
	r.script("sinfo", "echo slurm 24.11.0")
	r.script("squeue", "exit 0")
	r.script("sacct", "exit 0")
	r.script("sacctmgr", "exit 0")
	r.script("scancel", "echo \"$@\" >>"+r.bin+"/scancelled")
	r.script("sbatch", "echo 17")
	r.script("scontrol", `case "$*" in *node*) echo "`+rogueNode+`" ;;
*partition*) echo "PartitionName=main AllowGroups=ALL MaxTime=1-00:00:00 State=UP PriorityTier=1 PriorityJobFactor=1" ;; esac`)
}

// condor makes it one of HTCondor.
func (r *rogueLogin) condor() {
	r.script("condor_status", `case "$*" in *schedd*) echo '[{"Name":"s","TotalIdleJobs":0}]' ;;
*) echo '[{"Name":"slot1@h","State":"Unclaimed","OpSys":"LINUX","OpSysAndVer":"Debian13","Arch":"X86_64","Cpus":8,"Memory":8000,"Disk":9000000,"PartitionableSlot":true,"TotalSlotCpus":8,"TotalSlotMemory":8000,"TotalSlotDisk":9000000}]' ;; esac`)
	r.script("condor_q", "exit 0")
	r.script("condor_history", "exit 0")
	r.script("condor_ping", "echo Remote Mapping: me@here")
	r.script("condor_submit", "echo '17.0 - 17.0'")
	r.script("condor_rm", "exit 0")
}

// says makes a command of the node write text n times, in lines of columns parted by a vertical bar.
func (r *rogueLogin) says(name, when, text string, n int) {
	r.t.Helper()
	file := filepath.Join(r.bin, name+".part")
	text = strings.ReplaceAll(text, "|", "\x1f")
	head := ""
	if strings.HasPrefix(text, "[") {
		head, text = "printf [;", text[1:]
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	more := "echo '" + rogueNode + "'; echo 'PartitionName=main AllowGroups=ALL State=UP'"
	if strings.HasPrefix(name, "squeue") || strings.HasPrefix(name, "condor") {
		more = "exit 0"
	}
	r.script(name, fmt.Sprintf(`case "$*" in *%s*) %s yes "%s" | head -n %d | xargs cat ;; *) %s ;; esac`, when, head, file, n, more))
}

// TestRogueSlurm: whatever the commands of a Slurm answer over SSH costs bounded time and memory, is named, and
// keeps no other source back.
func TestRogueSlurm(t *testing.T) {
	t.Parallel()
	pending := "1|main|PENDING|1|1|1M|N/A|1:00|1|N/A|1|u|a|(null)||Priority|(null)|OK|(null)|q|||(null)|N/A\n"
	for _, c := range []struct {
		about, command, when, text string
		n                          int
		refused                    bool
	}{
		{"a queue without end", "squeue", "array", strings.Repeat(pending, 10_000), 1000, true},
		{"empty columns", "squeue", "array", strings.Repeat(strings.Repeat("|", 23)+"\n", 100_000), 100, true},
		{"one giant line", "squeue", "array", strings.Repeat("x", 1<<20), 300, true},
		{"jobs on very many nodes", "squeue", "array", strings.Repeat(strings.NewReplacer("PENDING", "RUNNING", "(null)||", "(null)|n[1-99999]|", "|N/A|1|u", "|9|1|u").Replace(pending), 1000), 10, false},
		{"names of hosts of a megabyte", "squeue", "array", strings.NewReplacer("PENDING", "RUNNING", "(null)||", "(null)|n["+strings.Repeat("0", 100_000)+"1-99999]|", "|N/A|1|u", "|9|1|u").Replace(pending), 1, false},
		{"ranges that make no names", "squeue", "array", strings.NewReplacer("PENDING", "RUNNING", "(null)||", "(null)|n[0-99999999999][]|", "|N/A|1|u", "|9|1|u").Replace(pending), 1, false},
		{"words without end", "scontrol", "node", rogueNode + " Reason=" + strings.Repeat("x ", 400_000) + "\n", 1, false},
		{"nodes without end", "scontrol", "node", strings.Repeat("NodeName=a\n", 100_000), 100, true},
		{"features without end", "scontrol", "node", strings.Repeat("NodeName=a ActiveFeatures="+strings.Repeat("a,", 100_000)+"\n", 5), 100, true},
		{"numbers that overflow", "scontrol", "node", strings.NewReplacer("=64000", "=9223372036854775807", "=64", "=9223372036854775807").Replace(rogueNode) + "\n", 2, false},
		{"reservations since 1970", "scontrol", "reservation", strings.Repeat("ReservationName=r StartTime=1 EndTime=2 Nodes=n1 Flags=HOURLY,HOURLY,HOURLY,DAILY\n", 1000), 1, false},
		{"years of billions", "scontrol", "reservation", "ReservationName=r StartTime=9223372036854775807 EndTime=9223372036854775807 Nodes=n1\n", 1, false},
		{"control characters", "scontrol", "node", strings.ReplaceAll(rogueNode, "=x ", "=\x1b]0;x\a\x00\xff\u202e ") + "\n", 1, false},
	} {
		t.Run(c.about, func(t *testing.T) {
			r := newRogueLogin(t)
			r.says(c.command, c.when, c.text, c.n)
			h := r.grid(0, "resources", "--info", r.url("slurm"), "--info", r.well(), "--no-cache")
			r.others(h, c.refused)
		})
	}
}

// others holds a listing of a rogue and a good source against the bounds.
func (r *rogueLogin) others(h harm, refused bool) {
	r.t.Helper()
	name := ""
	if refused {
		name = r.addr
	}
	r.bounded(h, name)
	if h.took > time.Minute {
		r.t.Errorf("it took %v", h.took)
	}
	if !strings.Contains(h.out, "well.example.org") {
		r.t.Errorf("the other source is not there: %.500q", h.out)
	}
	if strings.ContainsAny(h.out+h.errs, "\x1b\a\x00") {
		r.t.Errorf("control characters: %.500q", h.out)
	}
}

// TestRoguePool: the same of an HTCondor.
func TestRoguePool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about, command, text string
		n                    int
		refused              bool
	}{
		{"slots without end", "condor_status", "[" + strings.Repeat(`{"Name":"slot1@h"},`, 50_000), 100, true},
		{"empty slots", "condor_status", "[" + strings.Repeat(`{},`, 100_000), 100, true},
		{"one giant slot", "condor_status", `[{"Name":"` + strings.Repeat("x", 1<<20), 100, true},
		{"attributes without end", "condor_status", "[" + strings.Repeat(`{"Name":"s`+strings.Repeat(`","a":"`, 20_000)+`"},`, 20), 20, true},
		{"nested without end", "condor_status", "[{" + strings.Repeat(`"a":[`, 150_000), 1, true},
		{"environments without end", "condor_status", `[{"Name":"s","HasX":"` + strings.Repeat("a,b,c,", 100_000) + `"}]`, 1, false},
		{"waits of billions of years", "condor_status", `[{"Name":"s","JobsStarted":1e-300,"JobsAccumTimeToStart":1e300,"TotalIdleJobs":1e300,"TotalSlotCpus":-5}]`, 1, false},
	} {
		t.Run(c.about, func(t *testing.T) {
			r := newRogueLogin(t)
			r.condor()
			r.says(c.command, "", strings.ReplaceAll(c.text, "|", " "), c.n)
			r.others(r.grid(0, "resources", "--info", r.url("condor"), "--info", r.well(), "--no-cache"), c.refused)
		})
	}
}

// TestRogueNumbers: what sbatch prints as the number of a job is one, or the submission is not known to have
// arrived; it reaches no command line and no terminal.
func TestRogueNumbers(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"--user=root", "17 18", "*", "17\x1b]0;x", strings.Repeat("7", 40), "-1", "17_[1-9]"} {
		r := newRogueLogin(t)
		r.script("sbatch", "echo '"+number+"'")
		if err := os.WriteFile(filepath.Join(r.dir, "job.jdl"), []byte(`Executable = "/bin/true"; StdOutput = "out"; RetryCount = 0;`), 0o600); err != nil {
			t.Fatal(err)
		}
		h := r.grid(0, "submit", "--info", r.url("slurm"), "job.jdl")
		if h.code == 0 || !strings.Contains(h.errs, "named no id") || strings.Contains(h.out+h.errs, "\x1b") {
			t.Errorf("%q: %d %q %q", number, h.code, h.out, h.errs)
		}
		r.grid(0, "cancel", "--all")
		if text, err := os.ReadFile(filepath.Join(r.bin, "scancelled")); err == nil {
			t.Errorf("%q: scancel %s", number, text)
		}
	}
}
