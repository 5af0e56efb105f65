package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/durable"
)

// ociRuntime launches by an OCI runtime, rootless, with our program as process 1 inside. The runtime makes the namespaces
// and mounts what lies outside; the rest our program does, as under bwrap: keys, seccomp, limits and signals are the same
// with every launcher, whatever a runtime's own defaults are.
type ociRuntime struct {
	self, name string
	// asRoot is that the runtime wants to be user 0 inside: runc refuses other maps of a single user. The job is put
	// into a user namespace of its own below, where it has its own id again.
	asRoot bool
	flags  []string // after the runtime's name
	veiled bool     // refuses nodes whose control groups are of both versions, unless it does not see them
}

func runc(self string) *ociRuntime { return &ociRuntime{self: self, name: "runc", asRoot: true} }

func crun(self string) *ociRuntime {
	return &ociRuntime{self: self, name: "crun", flags: []string{"--cgroup-manager=disabled"}, veiled: true}
}

func (r *ociRuntime) Name() string   { return r.name }
func (r *ociRuntime) Isolates() bool { return true }

// Command writes the runtime's bundle: a folder with config.json, which goes with the process.
func (r *ociRuntime) Command(job *Job) (*process, error) {
	program, err := lookProgram(r.name)
	if err != nil {
		return nil, err
	}
	self, err := os.Open(r.self)
	if err != nil {
		return nil, err
	}
	p := &process{files: []*os.File{self}, rest: newSetup(job)}
	p.rest.Entered = true
	b, err := newBundle()
	if err != nil {
		p.close()
		return nil, err
	}
	p.bundle = b
	uid, gid := os.Geteuid(), os.Getegid()
	spec := newSpec(job, uid, gid)
	if r.asRoot && uid != 0 {
		p.user = &jobUser{UID: uid, GID: gid}
		spec.asRoot()
	}
	if err = p.specMounts(spec, job.Definition.Mounts); err == nil {
		err = b.write("config.json", spec)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	p.argv = append([]string{program, "--root", b.sub("state")}, r.flags...)
	p.argv = append(p.argv, "run", "--bundle", b.dir, "--preserve-fds", fmt.Sprint(firstFile-2), filepath.Base(b.dir))
	if r.veiled && mixedGroups() {
		p.around = veiled
		p.argv = append([]string{r.self, "veil"}, p.argv...)
	}
	return p, nil
}

// specMounts adds the definition's folders, which are checked inside to be those that were looked at here.
func (p *process) specMounts(spec *ociSpec, mounts []Mount) error {
	for _, m := range mounts {
		f, err := p.given(m)
		if err != nil {
			return err
		}
		f.Close()
		how := "ro"
		if m.Writable {
			how = "rw"
		}
		spec.bind(m.Source, m.Target, how)
	}
	return nil
}

// given opens a mount's source without following links, and has process 1 see that nothing else was mounted.
func (p *process) given(m Mount) (*os.File, error) {
	fd, err := plainSource(m.Source)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), m.Source)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, fmt.Errorf("mount %s: %w", m.Source, err)
	}
	p.rest.Given = append(p.rest.Given, givenFolder{m.Target, uint64(st.Dev), st.Ino})
	return f, nil
}

// mixedGroups tells whether the node has control groups of both versions.
func mixedGroups() bool {
	_, err := os.Stat("/sys/fs/cgroup/unified/cgroup.controllers")
	return err == nil
}

// lookProgram finds a launcher's program, also where administrators' programs lie, which users' PATH often lacks; batch
// systems such as HTCondor start jobs without any.
func lookProgram(name string) (string, error) {
	program, err := exec.LookPath(name)
	if err == nil {
		return program, nil
	}
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if full := filepath.Join(dir, name); executable(full) == nil {
			return full, nil
		}
	}
	return "", err
}

// executable tells why a file cannot be run.
func executable(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", name)
	}
	return nil
}

// A bundle is the folder that an OCI runtime reads and keeps its state in, locked as long as its launch lives.
type bundle struct {
	dir  string
	lock *os.File
}

const bundleName = "grid-launch-"

// newBundle makes one, and removes those whose launches were killed.
func newBundle() (*bundle, error) {
	begin := fmt.Sprintf("%s%d-", bundleName, os.Geteuid())
	temp, err := durable.TempDir()
	if err != nil {
		return nil, err
	}
	sweepBundles(temp, begin+"*")
	dir, err := os.MkdirTemp(temp, begin)
	if err != nil {
		return nil, err
	}
	b := &bundle{dir: dir}
	if b.lock, err = os.Open(dir); err == nil {
		if err = unix.Flock(int(b.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return b, nil
		}
		b.lock.Close()
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

// sweepBundles removes this user's bundles that no launch holds. One that was made a moment ago has no lock yet: a
// launch that finds its folder gone fails, and the next launcher is tried, so only old ones are touched.
func sweepBundles(dir, pattern string) {
	names, _ := durable.Named(dir, pattern)
	for _, name := range names {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && int(st.Uid) == os.Geteuid() && time.Since(time.Unix(st.Mtim.Unix())) > time.Minute && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.RemoveAll(name) // what stays is found the next time
		}
		unix.Close(fd)
	}
}

func (b *bundle) sub(name string) string { return filepath.Join(b.dir, name) }

func (b *bundle) write(name string, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return os.WriteFile(b.sub(name), text, 0o600)
}

func (b *bundle) close() {
	if b != nil {
		os.RemoveAll(b.dir) // what stays is swept by a later launch
		b.lock.Close()
	}
}
