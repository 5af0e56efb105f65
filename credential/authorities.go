package credential

import (
	"os"
	"path/filepath"
)

// Authorities reads the CA certificates as LoadTrust does. What it returns are those to believe now: where the
// directory has others since, they are read anew. A directory that cannot be read is told once, and what was
// there before is believed until it can; nil as long as it never could.
func Authorities(env Env, opts Options, tell func(error)) func() *Trust {
	look := func() []os.FileInfo { return lookFor(env.CertDir(opts)) }
	r, err := newReread(env, look, func() (*Trust, error) { return LoadTrust(env, opts) }, tell)
	if err != nil {
		r.doubtful, r.told = true, true
		tell(err)
	}
	return r.current
}

// lookFor finds what the files of a directory with CA certificates are.
func lookFor(dir string) []os.FileInfo { return lookInto(dir, namesCA) }

// lookInto finds what the files of a directory with some names are.
func lookInto(dir string, wanted func(name string) bool) (list []os.FileInfo) {
	entries, _ := os.ReadDir(dir) // none: who reads them says why
	for _, e := range entries {
		if !wanted(e.Name()) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			list = append(list, info)
		}
	}
	return list
}

// namesCA tells whether a file is one with a CA certificate, by its name: *.0 to *.9, *.pem.
func namesCA(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".pem" || len(ext) == 2 && ext[1] >= '0' && ext[1] <= '9'
}
