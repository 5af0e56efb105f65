package registry

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"

	"gridbroker/credential"
)

// careful finds credentials as docker and podman do, in files that are their user's alone: by one that others can write
// to they would choose the program that is run for credentials, and who can read one has the passwords in it.
type careful struct{}

// Resolve implements authn.Keychain.
func (careful) Resolve(target authn.Resource) (authn.Authenticator, error) {
	env := credential.Env{UID: os.Geteuid()}
	for _, file := range keyFiles() {
		if err := closed(env, file); err != nil {
			return nil, fmt.Errorf("credentials of %s: %w", target.RegistryStr(), err)
		}
	}
	return authn.DefaultKeychain.Resolve(target)
}

// keyFiles are those that authn.DefaultKeychain reads: docker's, else the one that is named, else podman's.
func keyFiles() (list []string) {
	home, _ := os.UserHomeDir() // without one there are fewer places
	for _, dir := range []string{join(home, ".docker"), os.Getenv("DOCKER_CONFIG")} {
		if file := join(dir, "config.json"); isFile(file) {
			list = append(list, file)
		}
	}
	if len(list) > 0 {
		return list
	}
	settings := os.Getenv("XDG_CONFIG_HOME")
	if settings == "" {
		settings = join(home, ".config")
	}
	for _, file := range []string{os.Getenv("REGISTRY_AUTH_FILE"), join(os.Getenv("XDG_RUNTIME_DIR"), "containers/auth.json"), join(settings, "containers/auth.json")} {
		if isFile(file) {
			return []string{file}
		}
	}
	return nil
}

// join is filepath.Join below a directory that there may not be.
func join(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() // a pipe would be waited for
}

// closed refuses a file that others can write to, and one with a secret that others can read.
func closed(env credential.Env, file string) error {
	text, err := credential.ReadSecret(env, file)
	if err == nil {
		clear(text)
		return nil
	}
	if err := credential.Owned(env, file); err != nil {
		return err
	}
	open, again := os.ReadFile(file)
	if again != nil {
		return again
	}
	defer clear(open)
	var doc struct {
		Auths map[string]map[string]any `json:"auths"`
	}
	if json.Unmarshal(open, &doc) != nil {
		return err
	}
	for _, entry := range doc.Auths {
		if len(entry) > 0 {
			return err
		}
	}
	return nil // settings alone
}
