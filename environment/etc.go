package environment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// an etcFile is a file of /etc made for one job.
type etcFile struct{ name, text string }

// etcFiles are the files that make the user, the host and, with network, the resolver known inside. Only what the tree
// has a place for is made: the unpacker makes these places in every tree.
func etcFiles(job *Job) []etcFile {
	uid, gid := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
	user := "user"
	if uid == "0" {
		user = "root"
	}
	host := hostname(job.Definition)
	list := []etcFile{
		{"/etc/passwd", fmt.Sprintf("%s:x:%s:%s::%s:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n", user, uid, gid, SandboxTarget)},
		{"/etc/group", fmt.Sprintf("%s:x:%s:\nnogroup:x:65534:\n", user, gid)},
		{"/etc/hosts", "127.0.0.1 localhost " + host + "\n::1 localhost\n"},
	}
	if job.Definition.Network {
		if text, err := os.ReadFile("/etc/resolv.conf"); err == nil && len(text) < 32<<10 {
			list = append(list, etcFile{"/etc/resolv.conf", string(text)})
		}
	}
	return slices.DeleteFunc(list, func(f etcFile) bool {
		info, err := os.Lstat(filepath.Join(job.Tree, f.name))
		return err != nil || !info.Mode().IsRegular() // a link is the image's own way
	})
}

// etcPlaces are the files and folders that launchers mount upon; the unpacker makes those that an image lacks.
var etcPlaces = struct{ folders, files []string }{
	folders: []string{"proc", "dev", "tmp", "etc", strings.TrimPrefix(SandboxTarget, "/")},
	files:   []string{"etc/passwd", "etc/group", "etc/hosts", "etc/resolv.conf"},
}

// hostname is what the environment calls its host: the tag, as far as a host name can say it.
func hostname(d *Definition) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '_' || r == '+' || r == '.' {
			return '-'
		}
		return r
	}, d.Tag[:min(len(d.Tag), 60)])
}

// devices are the nodes that the definition's patterns name on this machine.
func devices(d *Definition) []string {
	var list []string
	for _, pattern := range d.Devices {
		found, _ := filepath.Glob(pattern) // checked when the definition was read
		list = append(list, found...)
	}
	return list
}

// variables are those of a job inside: the definition's, then the sandbox's, over a few that every job has.
func variables(job *Job) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + SandboxTarget, "TMPDIR=/tmp",
		"LANG=C.UTF-8", "GRID_ENVIRONMENT=" + job.Definition.Tag,
	}
	for k, v := range job.Definition.Environment {
		env = append(env, k+"="+v)
	}
	return append(env, job.Sandbox.Env...)
}
