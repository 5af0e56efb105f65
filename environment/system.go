package environment

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// A System makes an environment a machine of its own, with the kernel of its image, for software that the node's kernel
// does not run. The machine sees no folder, device or network of the node: the job's sandbox is copied in and back.
type System struct {
	// Kernel is the image's kernel, such as "/boot/vmlinuz-6.1.0-56-cloud-amd64"; empty: the only /boot/vmlinuz-*.
	Kernel string `toml:"kernel" json:"kernel,omitempty"`
	// Memory is the machine's, in bytes, the job's sandbox and scratch in it; 0: 512 MiB.
	Memory Size `toml:"memory" json:"memory,omitempty"`
	// Processors is the machine's number of them; 0: 1.
	Processors int `toml:"processors" json:"processors,omitempty"`
}

const (
	kernelPrefix  = "/boot/vmlinuz-"
	leastMemory   = 128 << 20
	mostMemory    = 64 << 30
	mostProcessor = 64
)

func (d *Definition) checkSystem() *valueError {
	alone := slices.Equal(d.Launchers, []string{"microvm"})
	if s := d.System; s == nil {
		if slices.Contains(d.Launchers, "microvm") {
			return &valueError{"launchers", "microvm is for definitions with a [system] alone"}
		}
		return nil
	}
	switch s := d.System; {
	case len(d.Launchers) > 0 && !alone:
		return &valueError{"launchers", "a [system] is launched by microvm alone"}
	case len(d.Mounts) > 0 || len(d.Devices) > 0 || d.Network || d.Nested || d.Open:
		return &valueError{"system", "a machine of its own has no mounts, devices, network, nested or open"}
	case s.Memory != 0 && (s.Memory < leastMemory || s.Memory > mostMemory):
		return &valueError{"system", "memory is not from 128 MiB to 64 GiB"}
	case s.Processors < 0 || s.Processors > mostProcessor:
		return &valueError{"system", "processors are not from 1 to 64"}
	case s.Kernel != "" && (!cleanAbsolute(s.Kernel) || !strings.HasPrefix(s.Kernel, kernelPrefix) || path.Dir(s.Kernel) != "/boot"):
		return &valueError{"system", fmt.Sprintf("kernel %q is not %sVERSION", s.Kernel, kernelPrefix)}
	}
	return nil
}

// kernel finds the image's kernel: its path in the image without the first slash, and its version.
func (s *System) kernel(tree *os.Root) (name, version string, err error) {
	name = strings.TrimPrefix(s.Kernel, "/")
	if name == "" {
		found, _ := fs.Glob(tree.FS(), strings.TrimPrefix(kernelPrefix, "/")+"*")
		if len(found) != 1 {
			return "", "", fmt.Errorf("the image has %d kernels %s*, and the definition names none", len(found), kernelPrefix)
		}
		name = found[0]
	}
	if _, err := tree.Stat(name); err != nil {
		return "", "", fmt.Errorf("the image's kernel: %w", err)
	}
	return name, strings.TrimPrefix("/"+name, kernelPrefix), nil
}

// machineModules are the parts of a kernel that a machine needs to reach its disk and its supervisor.
func machineModules() []string {
	return []string{"virtio_mmio", "virtio_blk", "virtio_console", "squashfs"}
}

// modules lists the image's files of machineModules and of what they need, in the order to load them. What is built into
// the kernel needs none.
func modules(tree *os.Root, version string) ([]string, error) {
	dir := path.Join("lib/modules", version)
	if _, err := tree.Stat(dir); err != nil {
		dir = path.Join("usr", dir)
	}
	needs, err := readLines(tree, path.Join(dir, "modules.dep"))
	if err != nil {
		return nil, fmt.Errorf("the image's modules of kernel %s: %w", version, err)
	}
	builtin, err := readLines(tree, path.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, fmt.Errorf("the image's modules of kernel %s: %w", version, err)
	}
	var list []string
	for _, want := range machineModules() {
		if slices.ContainsFunc(builtin, func(line string) bool { return moduleName(line) == want }) {
			continue
		}
		i := slices.IndexFunc(needs, func(line string) bool {
			file, _, ok := strings.Cut(line, ":")
			return ok && moduleName(file) == want
		})
		if i < 0 {
			return nil, fmt.Errorf("the image's kernel %s has no %s", version, want)
		}
		file, deps, _ := strings.Cut(needs[i], ":")
		files := append([]string{file}, strings.Fields(deps)...) // what is needed stands after what needs it
		slices.Reverse(files)
		for _, f := range files {
			if f = path.Join(dir, f); !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list, nil
}

// moduleName is what a module's file is called in the kernel.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// moduleSuffix is what a module's file name ends with: the kernel unpacks those that are compressed.
func moduleSuffix(file string) string {
	_, rest, _ := strings.Cut(path.Base(file), ".ko")
	return ".ko" + rest
}

func readLines(root *os.Root, name string) ([]string, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4<<20))
	return strings.Split(string(text), "\n"), err
}

// An initrd is the first file system of a machine: an archive in the "newc" form of cpio (Linux,
// Documentation/driver-api/early-userspace/buffer-format.rst).
type initrd struct {
	w   *bufio.Writer
	ino int
}

// add puts in a file.
func (a *initrd) add(name string, mode, size int64, content io.Reader) error {
	a.ino++
	fmt.Fprintf(a.w, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", a.ino, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, len(name)+1, 0)
	a.w.WriteString(name)
	a.pad(110+len(name), 1)
	n, err := io.CopyN(a.w, content, size)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.pad(int(n%4), 0)
	return nil
}

// pad fills up to a multiple of four with zeros, of which there are some at least.
func (a *initrd) pad(n, least int) {
	for ; least > 0 || n%4 != 0; least-- {
		a.w.WriteByte(0)
		n++
	}
}

func (a *initrd) close() error {
	return errors.Join(a.add("TRAILER!!!", 0, 0, strings.NewReader("")), a.w.Flush())
}

// addFile puts in a file of an image or of the node, as it stands.
func (a *initrd) addFile(name string, f *os.File, err error) error {
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", f.Name())
	}
	return a.add(name, 0o100755, info.Size(), f)
}
