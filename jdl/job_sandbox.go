package jdl

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// hasMeta reports whether s is a pattern of path.Match.
func hasMeta(s string) bool { return strings.ContainsAny(s, "*?[") }

// cleanName makes a name of a file in the job's directory canonical, or says
// why it cannot be one.
func cleanName(name string) (clean, why string) {
	switch {
	case name == "":
		return "", "is empty"
	case strings.ContainsAny(name, "\x00\n\r"):
		return "", "holds a control character"
	case isURL(name):
		return "", "is a URL"
	case strings.HasPrefix(name, "/"):
		return "", "is an absolute path"
	}
	clean = path.Clean(name)
	if clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", "leads out of the job's directory"
	}
	return clean, ""
}

// backHint helps with the name of a file that is to be brought back.
func backHint(name string) string {
	switch {
	case isURL(name):
		return "where files go is said by OutputSandboxDestURI"
	case strings.HasPrefix(name, "/"):
		return "only files of the job's own directory can be brought back"
	}
	return ""
}

// inputEntry is one entry of InputSandbox as written.
type inputEntry struct {
	text string
	pos  classad.Pos
}

// entries pairs the strings of a list attribute with their places.
func (r *jobReader) entries(attr string) []inputEntry {
	texts := r.strs(attr)
	out := make([]inputEntry, len(texts))
	e, _ := r.ad.Expr(attr)
	l, _ := e.(*classad.ListExpr)
	for i, s := range texts {
		out[i] = inputEntry{s, r.pos(attr)}
		if l != nil && len(l.Elems) == len(texts) && l.Elems[i].Pos().Line > 0 {
			out[i].pos = l.Elems[i].Pos()
		}
	}
	return out
}

// inputs reads the input sandbox: paths, URLs and globs.
func inputs(r *jobReader) {
	entries := r.entries("InputSandbox")
	names := r.strs("InputSandboxDestFileName")
	base := r.str("InputSandboxBaseURI")
	if base != "" && !isURL(base) {
		r.failAttr("InputSandboxBaseURI", "uri", "", "InputSandboxBaseURI %q is not protocol://address", base)
	}
	if names != nil && len(names) != len(entries) {
		r.failAttr("InputSandboxDestFileName", "count", "", "InputSandboxDestFileName has %d names for %d files of the InputSandbox", len(names), len(entries))
		names = nil
	}
	for i, e := range entries {
		dest := ""
		if names != nil {
			dest = names[i]
		}
		for _, src := range sources(r, e, base) {
			if dir, is := strings.CutSuffix(src, "/"); is && !isURL(src) && !r.cfg.stored {
				addTree(r, e, dir, dest)
				continue
			} else if dest == "." { // what is in it, were it a directory
				dest = ""
			}
			if dest == "" && isURL(src) && strings.HasSuffix(src, "/") && !r.cfg.stored {
				r.fail(e.pos, "uri", "name the file; InputSandboxDestFileName gives it a name in the job's directory",
					"InputSandbox: the URL %s ends in / and so names no file", src)
				continue
			}
			addInput(r, e, src, dest)
		}
	}
	madeInputs(r)
	stdInput(r)
}

// sources turns an entry into absolute paths or URLs; those of directories end in
// a slash.
func sources(r *jobReader, e inputEntry, base string) []string {
	s := e.text
	if s == "" {
		r.warn(e.pos, "empty-name", "", "InputSandbox: an empty name is ignored")
		return nil
	}
	if !r.cfg.stored && !goodURL(r, "InputSandbox", e) {
		return nil
	}
	if isFileURL(s) {
		s = fileName(r, e)
	}
	if scheme, rest, _ := strings.Cut(s, ":"); slices.Contains(catalogueSchemes, classad.Fold(scheme)) && !r.cfg.stored {
		s = classad.Fold(scheme) + ":" + rest // DIRAC writes LFN:
	}
	if isURL(s) || r.cfg.stored {
		return []string{s}
	}
	if !strings.HasPrefix(s, "/") {
		if base != "" {
			return []string{strings.TrimSuffix(base, "/") + "/" + s}
		}
		s = path.Join(r.dir, s)
	}
	if r.cfg.noFiles {
		return []string{path.Clean(s)}
	}
	names := localFiles(r, e, path.Clean(s))
	for _, name := range names {
		if !strings.HasSuffix(name, "/") {
			warnPrivate(r, e, name)
		}
	}
	return names
}

// fileName is the file that a file: URL names. gLite also took file://NAME,
// which names a host, for a file beside the description: where that is there,
// it is meant.
func fileName(r *jobReader, e inputEntry) string {
	s := e.text[len(fileURL):]
	if s != "" && s[0] != '/' && !r.cfg.stored && !r.cfg.noFiles {
		info, err := fs.Stat(r.cfg.root, strings.TrimPrefix(path.Join(r.dir, s), "/"))
		if err == nil && info.Mode().IsRegular() {
			r.warn(e.pos, "file-url", "write "+s, "InputSandbox: %s names a host; the file %s is taken", e.text, s)
			return s
		}
	}
	return "/" + strings.TrimLeft(strings.TrimPrefix(s, "localhost"), "/")
}

// localFiles looks for the file or files that an absolute path means.
func localFiles(r *jobReader, e inputEntry, abs string) []string {
	rel := strings.TrimPrefix(abs, "/")
	info, err := fs.Stat(r.cfg.root, rel)
	switch {
	case err == nil && info.IsDir():
		return []string{abs + "/"}
	case err == nil && !info.Mode().IsRegular():
		r.fail(e.pos, "no-file", "", "InputSandbox: %s is not a regular file", e.text)
	case err == nil:
		return []string{abs}
	case errors.Is(err, fs.ErrNotExist) && hasMeta(rel):
		return glob(r, e, rel)
	case errors.Is(err, fs.ErrNotExist) && isHere(r, e.text) != "":
		here := isHere(r, e.text)
		r.warn(e.pos, "other-directory", "names are relative to "+r.dir, "InputSandbox: %s is not there; %s is taken", e.text, here)
		return []string{here}
	case errors.Is(err, fs.ErrNotExist) && r.cfg.later:
		r.warn(e.pos, "no-file-yet", "", "InputSandbox: %s is not here yet: a script may make it before the job is sent", e.text)
		return []string{abs}
	case errors.Is(err, fs.ErrNotExist):
		r.fail(e.pos, "no-file", missingHint(r, e.text, rel), "InputSandbox: %s does not exist", e.text)
	case errors.Is(err, fs.ErrInvalid):
		r.fail(e.pos, "bad-name", "", "InputSandbox: %q is no name of a file", e.text)
	default:
		r.fail(e.pos, "no-file", "", "InputSandbox: %s: %v", e.text, cause(err))
	}
	r.absent[path.Base(abs)] = true
	return nil
}

// cause is the reason inside a path error, whose path is already named.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// isHere is the file or directory of a relative name in the directory the user is in, or "".
func isHere(r *jobReader, name string) string {
	if r.cfg.here == "" || strings.HasPrefix(name, "/") {
		return ""
	}
	abs := path.Join(r.cfg.here, name)
	info, err := fs.Stat(r.cfg.root, strings.TrimPrefix(abs, "/"))
	switch {
	case err == nil && info.Mode().IsRegular():
		return abs
	case err == nil && info.IsDir():
		return abs + "/"
	}
	return ""
}

// goodURL refuses what looks like a URL and is none that a site could fetch.
func goodURL(r *jobReader, attr string, e inputEntry) bool {
	scheme, rest, ok := strings.Cut(e.text, ":")
	switch low := classad.Fold(scheme); {
	case !ok || !isScheme(scheme):
	case low == "sb":
		r.fail(e.pos, "dirac-sandbox", "give the files themselves, or fetch it with DIRAC first",
			"%s: %s is a sandbox in DIRAC's own store, which only DIRAC can fetch", attr, e.text)
		return false
	case slices.Contains(catalogueSchemes, low) && scheme != low && r.job.Dialect != DIRAC:
		r.fail(e.pos, "logical-name", "write "+low+":"+rest, "%s: the prefix of %s must be in lower case", attr, e.text)
		return false
	case isURL(e.text) && strings.ContainsAny(e.text, " \t\r\n"):
		r.fail(e.pos, "uri", "write "+strings.ReplaceAll(strings.TrimSpace(e.text), " ", "%20"), "%s: the URL %q holds a blank", attr, e.text)
		return false
	}
	return true
}

func missingHint(r *jobReader, text, rel string) string {
	if strings.ContainsAny(text, "$~") {
		return "variables and ~ are not replaced in names"
	}
	if strings.Contains(text, ",") {
		return `several names are a list: {"a", "b"}`
	}
	if r.cfg.left != nil {
		if how := r.cfg.left(text); how != "" {
			return how
		}
	}
	if near := nearestFile(r.cfg.root, rel, text); near != "" {
		return "did you mean " + near + "?"
	}
	if strings.HasPrefix(text, "/") {
		return ""
	}
	return "names are relative to " + r.dir
}

// glob expands a pattern over files; hidden files match only a pattern that
// begins with a dot.
func glob(r *jobReader, e inputEntry, pattern string) []string {
	found, err := globWithin(r.cfg.root, pattern)
	if errors.Is(err, errGlobTooWide) {
		r.fail(e.pos, "glob", "name fewer directories by a pattern", "InputSandbox: %s: %v", e.text, err)
		return nil
	} else if err != nil {
		r.fail(e.pos, "glob", "", "InputSandbox: the pattern %q is malformed", e.text)
		return nil
	}
	var out []string
	for _, name := range found {
		hidden := strings.HasPrefix(path.Base(name), ".") && !strings.HasPrefix(path.Base(pattern), ".")
		if info, err := fs.Stat(r.cfg.root, name); err == nil && info.Mode().IsRegular() && !hidden {
			out = append(out, "/"+name)
		}
	}
	if len(out) == 0 {
		r.fail(e.pos, "no-file", missingHint(r, e.text, pattern), "InputSandbox: no file matches %s", e.text)
	}
	return out
}

func addInput(r *jobReader, e inputEntry, source, dest string) {
	if dest == "" {
		dest = sourceName(source)
	}
	name, why := cleanName(dest)
	if why != "" {
		r.fail(e.pos, "bad-name", "", "InputSandbox: the name %q %s", dest, why)
		return
	}
	switch was, taken := r.inNames[name]; {
	case taken && was == source:
		r.warn(e.pos, "twice", "", "InputSandbox: %s is listed twice", e.text)
	case taken:
		r.fail(e.pos, "same-name", "give one of them another name with InputSandboxDestFileName",
			"InputSandbox: %s and %s would both be called %s", was, source, name)
	default:
		r.inNames[name] = source
		r.job.InputSandbox = append(r.job.InputSandbox, InputFile{Source: source, Name: name})
	}
}

// sourceName is the last part of a path or URL.
func sourceName(source string) string {
	if isURL(source) {
		source, _, _ = strings.Cut(source, "?")
		source = source[strings.Index(source, ":")+1:]
	}
	return path.Base(source)
}

// outputs reads the output sandbox and where its files go.
func outputs(r *jobReader) {
	entries := r.entries("OutputSandbox")
	dest := r.strs("OutputSandboxDestURI")
	base := r.str("OutputSandboxBaseDestURI")
	checkDest(r, entries, dest, base)
	for i, e := range entries {
		addOutput(r, e, destination(dest, base, i, e.text))
	}
	outputBacks(r, entries)
	outputData(r)
}

// outputBacks reads the names that files are brought under.
func outputBacks(r *jobReader, entries []inputEntry) {
	const attr = "OutputSandboxDestFileName"
	backs := r.entries(attr)
	if len(backs) > 0 && len(backs) != len(entries) {
		r.failAttr(attr, "count", "", "%s has %d names for %d files of the OutputSandbox", attr, len(backs), len(entries))
		return
	}
	taken := map[string]string{}
	for _, f := range r.job.Outputs() {
		taken[path.Clean(f.Name)] = f.Name
	}
	for i, b := range backs {
		own, _ := cleanName(entries[i].text)
		back, why := cleanName(b.text)
		at := slices.IndexFunc(r.job.OutputSandbox, func(f OutputFile) bool { return path.Clean(f.Name) == own })
		switch {
		case b.text == "" || back == own || at < 0:
			continue
		case why == "" && hasMeta(own):
			why = "is the name of several files (" + own + ")"
		case why == "" && taken[back] != "":
			why = "is the name of another file"
		}
		if why != "" {
			r.fail(b.pos, "bad-name", "", "%s: %q %s", attr, b.text, why)
			continue
		}
		taken[back] = own
		r.job.OutputSandbox[at].Back = back
	}
}

// isCEServer reports whether a destination means the computing element's own
// file server (CREAM's gsiftp://localhost), that is: the user fetches.
func isCEServer(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	host := rest
	if end := strings.IndexAny(rest, ":/"); end >= 0 {
		host = rest[:end]
	}
	return host == "localhost"
}

func checkDest(r *jobReader, entries []inputEntry, dest []string, base string) {
	switch {
	case dest != nil && base != "":
		r.failAttr("OutputSandboxBaseDestURI", "conflict", "keep one of them", "OutputSandboxDestURI and OutputSandboxBaseDestURI exclude each other")
	case dest != nil && len(dest) != len(entries):
		r.failAttr("OutputSandboxDestURI", "count", "", "OutputSandboxDestURI has %d entries for %d files of the OutputSandbox", len(dest), len(entries))
	case base != "" && !isURL(base):
		r.failAttr("OutputSandboxBaseDestURI", "uri", "", "OutputSandboxBaseDestURI %q is not protocol://address", base)
	}
}

func addOutput(r *jobReader, e inputEntry, url string) {
	if e.text == "" {
		r.warn(e.pos, "empty-name", "", "OutputSandbox: an empty name is ignored")
		return
	}
	name, why := cleanName(e.text)
	if why == "" && strings.HasSuffix(e.text, "/") { // a directory, with all in it
		name += "/"
	}
	if why == "" && url != "" && hasMeta(name) {
		why = "has wildcards, and a destination needs a name"
	}
	if why != "" {
		r.fail(e.pos, "bad-name", backHint(e.text), "OutputSandbox: %q %s", e.text, why)
		return
	}
	if url != "" && !isURL(url) {
		url = localDest(r, url)
	}
	base := path.Base(name)
	switch was, taken := r.outNames[base]; {
	case taken && was == name:
		r.warn(e.pos, "twice", "", "OutputSandbox: %s is listed twice", e.text)
	case taken && !hasMeta(base):
		r.fail(e.pos, "same-name", "", "OutputSandbox: %s and %s have the same name", was, name)
	default:
		r.outNames[base] = name
		r.job.OutputSandbox = append(r.job.OutputSandbox, OutputFile{Name: name, DestURL: url})
	}
}

// localDest drops a destination that is a plain path: the file is then
// fetched with the others.
func localDest(r *jobReader, url string) string {
	r.warn(r.pos("OutputSandboxDestURI"), "uri", "", "OutputSandboxDestURI %q is not protocol://address; the file is kept for grid output", url)
	return ""
}
