package voms

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gridbroker/durable"
)

// Server is one line of a vomses file: where a VO's VOMS server is.
type Server struct {
	Alias string // what users call it; usually the VO
	Host  string
	Port  int
	DN    string // subject of its certificate
	VO    string
	File  string // where it is written
	Line  int
}

// String is the server as messages name it: "host:port".
func (s Server) String() string { return fmt.Sprintf("%s:%d", s.Host, s.Port) }

// maxVomses bounds what is read of one vomses or LSC file.
const maxVomses = 1 << 20

// parseVomses reads vomses lines: "alias" "host" "port" "DN" "VO", with an
// optional Globus version after them. Quotes hold spaces; # begins a comment.
// Errors name file and line.
func parseVomses(file string, r io.Reader) ([]Server, error) {
	var servers []Server
	sc := bufio.NewScanner(io.LimitReader(r, maxVomses))
	n := 1
	for ; sc.Scan(); n++ {
		fields, err := splitQuoted(sc.Text())
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 5 {
			return nil, fmt.Errorf(`%s:%d: %d fields; want "alias" "host" "port" "DN" "VO"`, file, n, len(fields))
		}
		port, err := strconv.Atoi(fields[2])
		if err != nil || port < 1 || port > 65535 {
			return nil, fmt.Errorf("%s:%d: port %q", file, n, fields[2])
		}
		servers = append(servers, Server{Alias: fields[0], Host: fields[1], Port: port, DN: fields[3], VO: fields[4], File: file, Line: n})
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n, err)
	}
	return servers, nil
}

// splitQuoted splits a line at white space, except inside quotes.
func splitQuoted(line string) ([]string, error) {
	var fields []string
	for line = strings.TrimSpace(line); line != "" && line[0] != '#'; line = strings.TrimSpace(line) {
		if q := line[0]; q == '"' || q == '\'' {
			end := strings.IndexByte(line[1:], q)
			if end < 0 {
				return nil, fmt.Errorf("quote %c is not closed", q)
			}
			fields, line = append(fields, line[1:1+end]), line[2+end:]
			continue
		}
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		fields, line = append(fields, line[:end]), line[end:]
	}
	return fields, nil
}

// ReadVomses reads vomses files; a directory stands for the files in it. Files
// that do not exist are passed over; one that cannot be read or parsed is an
// error beside the servers of the others.
func ReadVomses(paths ...string) (servers []Server, errs []error) {
	for _, path := range paths {
		for _, file := range filesOf(path) {
			data, err := durable.ReadFile(file, maxVomses)
			if err != nil {
				if !os.IsNotExist(err) {
					errs = append(errs, err)
				}
				continue
			}
			some, err := parseVomses(file, bytes.NewReader(data))
			if err != nil {
				errs = append(errs, err)
			}
			servers = append(servers, some...)
		}
	}
	return servers, errs
}

func filesOf(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return []string{path} // a file, or nothing
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() || e.Type()&os.ModeSymlink != 0 {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files
}

// ServersOf returns the servers of a VO, by its name or alias.
func ServersOf(servers []Server, vo string) []Server {
	var some []Server
	for _, s := range servers {
		if (s.VO == vo || s.Alias == vo) && !slices.ContainsFunc(some, func(have Server) bool { return have.String() == s.String() }) {
			some = append(some, s)
		}
	}
	return some
}
