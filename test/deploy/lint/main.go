// Reads a container file and compose files as BuildKit and Compose do. Findings go to standard error, a line each, and end it with 1; compose files
// without findings are printed as JSON, a line each.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/opencontainers/go-digest"
)

func main() {
	findings := 0
	for _, file := range os.Args[1:] {
		var found []string
		if strings.HasSuffix(file, ".yaml") {
			found = compose(file)
		} else {
			found = container(file)
		}
		for _, finding := range found {
			fmt.Fprintf(os.Stderr, "%s: %s\n", file, finding)
		}
		findings += len(found)
	}
	if findings > 0 {
		os.Exit(1)
	}
}

// A registry is not asked: each image is one for this platform, of which nothing else is known.
type anyImage struct{}

func (anyImage) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	return ref, digest.FromString(ref), []byte(`{"os":"linux","architecture":"amd64","config":{}}`), nil
}

func container(file string) (found []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return []string{err.Error()}
	}
	source := llb.NewSourceMap(nil, file, "Dockerfile", text)
	source.Definition = &llb.Definition{}
	results, err := dockerfile2llb.DockerfileLint(context.Background(), text, dockerfile2llb.ConvertOpt{
		Config:       dockerui.Config{BuildArgs: map[string]string{"NODE_IMAGE": "node@" + digest.FromString("").String()}},
		MetaResolver: anyImage{},
		SourceMap:    source,
	})
	if err != nil {
		return []string{err.Error()}
	}
	for _, warning := range results.Warnings {
		found = append(found, warning.RuleName+": "+warning.Detail)
	}
	if results.Error != nil {
		found = append(found, results.Error.Message)
	}
	return found
}

func compose(file string) []string {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(os.Environ()))
	if err != nil {
		return []string{err.Error()}
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return []string{err.Error()}
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return []string{err.Error()}
	}
	fmt.Fprintln(os.Stdout, string(text))
	return nil
}
