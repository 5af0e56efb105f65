package tags

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
)

// GLUE1 writes what a GIP plugin prints for a BDII: the tags to add to a GlueSubCluster that its site's other providers
// describe. The values are added; plain attribute lines would replace all others.
func GLUE1(subCluster string, list []Tag) string {
	if list = usable(list); len(list) == 0 {
		return ""
	}
	var b strings.Builder
	line(&b, "dn", subCluster)
	b.WriteString("changetype: modify\nadd: GlueHostApplicationSoftwareRunTimeEnvironment\n")
	for _, t := range list {
		line(&b, "GlueHostApplicationSoftwareRunTimeEnvironment", t.Name)
	}
	b.WriteString("\n")
	return b.String()
}

// usable are the tags for systems that have no word for a broken one.
func usable(list []Tag) []Tag {
	return slices.DeleteFunc(slices.Clone(list), func(t Tag) bool { return t.State == InstalledBroken })
}

// Place is where GLUE 2.0 entries stand: a ComputingManager of a ComputingService.
type Place struct {
	Manager string // GLUE2ManagerID
	Service string // GLUE2ServiceID
	Base    string // DN that the service stands below; empty: GLUE2GroupID=resource,o=glue, as in a resource BDII
}

// GLUE2 writes an ApplicationEnvironment (GFD.147, 6.8) for each tag, whole entries for a provider or a static file.
// Their IDs are made of the manager's and the tag, and stay the same. Broken ones are published as such.
func GLUE2(p Place, list []Tag, now time.Time) string {
	var b strings.Builder
	for _, t := range list {
		id := p.Manager + ":appenv:" + t.Name
		line(&b, "dn", fmt.Sprintf("GLUE2ApplicationEnvironmentID=%s,GLUE2ManagerID=%s,GLUE2ServiceID=%s,%s",
			escapeRDN(id), escapeRDN(p.Manager), escapeRDN(p.Service), cmp.Or(p.Base, "GLUE2GroupID=resource,o=glue")))
		line(&b, "objectClass", "GLUE2Entity")
		line(&b, "objectClass", "GLUE2ApplicationEnvironment")
		line(&b, "GLUE2EntityCreationTime", now.UTC().Format(time.RFC3339))
		line(&b, "GLUE2ApplicationEnvironmentID", id)
		line(&b, "GLUE2ApplicationEnvironmentAppName", t.Name)
		line(&b, "GLUE2ApplicationEnvironmentState", string(t.State))
		line(&b, "GLUE2ApplicationEnvironmentRepository", t.Repository)
		line(&b, "GLUE2ApplicationEnvironmentDescription", t.Description)
		line(&b, "GLUE2ApplicationEnvironmentLicense", t.License)
		if t.Digest != "" {
			line(&b, "GLUE2EntityOtherInfo", "digest="+t.Digest)
		}
		line(&b, "GLUE2ApplicationEnvironmentComputingManagerForeignKey", p.Manager)
		b.WriteString("\n")
	}
	return b.String()
}

// line writes an attribute (RFC 2849): base64 where the value is not a safe string; nothing where it is empty.
func line(b *strings.Builder, name, value string) {
	if value == "" {
		return
	}
	if safe(value) {
		fmt.Fprintf(b, "%s: %s\n", name, value)
		return
	}
	fmt.Fprintf(b, "%s:: %s\n", name, base64.StdEncoding.EncodeToString([]byte(value)))
}

func safe(value string) bool {
	for i := 0; i < len(value); i++ {
		if c := value[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return !strings.ContainsAny(value[:1], " :<") && !strings.HasSuffix(value, " ")
}

// escapeRDN escapes a value in a DN (RFC 4514, 2.4).
func escapeRDN(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		c := value[i]
		if strings.IndexByte(`,+"\<>;=`, c) >= 0 || i == 0 && (c == '#' || c == ' ') || i == len(value)-1 && c == ' ' {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Quote makes a word of a POSIX shell.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Script is a GIP provider or plugin that runs a command line when the BDII asks, so that what it prints is current.
func Script(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = Quote(w)
	}
	return "#!/bin/sh\nexec " + strings.Join(words, " ") + "\n"
}
