import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CertificatesApi;
import org.openapitools.client.api.SecretsApi;
import org.openapitools.client.api.VaultsApi;
import org.openapitools.client.model.CreateSecretInput;
import org.openapitools.client.model.CreateVaultInput;
import org.openapitools.client.model.ErrorBody;
import org.openapitools.client.model.FieldProblem;
import org.openapitools.client.model.SecretMetadataChange;
import org.openapitools.client.model.UpdateSecretInput;

/** Vaults and secrets by the client that openapi-generator makes for Java. Prints what it did, as JSON. */
public class RoundTrip {
  private static final Gson JSON = new GsonBuilder().serializeNulls().create();

  interface Request {
    Object send() throws ApiException;
  }

  public static void main(String[] arguments) throws Exception {
    Map<?, ?> given = JSON.fromJson(new InputStreamReader(System.in), Map.class);
    String name = (String) given.get("vault");
    String path = "db/password";
    ApiClient client = new ApiClient();
    client.setBasePath((String) given.get("baseUrl"));
    client.setBearerToken((String) given.get("token"));
    VaultsApi vaults = new VaultsApi(client);
    SecretsApi secrets = new SecretsApi(client);
    CertificatesApi certificates = new CertificatesApi(client);

    var vault = vaults.createVault(
        new CreateVaultInput().name(name).environment("staging").tags(new LinkedHashSet<>(Set.of("generated"))), null);
    var created = secrets.createSecret(name, new CreateSecretInput().path(path).value("hunter2"), name);
    var read = secrets.readSecret(name, path, null);
    if (!created.getSecretId().equals(read.getSecretId()) || read.getSecretId() <= Integer.MAX_VALUE)
      throw new IllegalStateException("the number of a secret takes more than 32 bits");
    var change = new UpdateSecretInput().metadata(new SecretMetadataChange().tags(new LinkedHashSet<>(Set.of("new"))));
    var changed = secrets.updateSecret(name, path, "\"v1\"", null, change);
    var list = secrets.listSecrets(name, null, List.of("new"), null, null, null, null, null);
    var removed = secrets.deleteSecret(name, path, null, null);

    File revoked = certificates.readRevocationListDer((String) given.get("tenantId"), null);
    byte[] bytes = Files.readAllBytes(revoked.toPath());
    Files.delete(revoked.toPath());

    Map<String, Object> done = new HashMap<>();
    done.put("vault", Map.of("id", vault.getId(), "name", vault.getName(), "environment", vault.getEnvironment().getValue()));
    done.put("secret", Map.of("path", read.getPath(), "version", read.getVersion(), "value", read.getValue()));
    done.put("tags", changed.getMetadata().getTags());
    done.put("listed", list.getSecrets().stream().map(one -> one.getPath()).toList());
    done.put("deleted", removed.getDeleted());
    done.put("missing", refusal(() -> secrets.readSecret(name, path, null)));
    done.put("invalid", refusal(() -> vaults.createVault(new CreateVaultInput().name("not a name"), null)));
    done.put("text", certificates.readRootCertificate().split("\n")[0]);
    done.put("binary", Map.of("size", bytes.length, "first", bytes[0] & 0xff));
    System.out.println(JSON.toJson(done));
  }

  private static Map<String, Object> refusal(Request request) throws Exception {
    try {
      request.send();
    } catch (ApiException refused) {
      ErrorBody error = org.openapitools.client.model.Error.fromJson(refused.getResponseBody()).getError();
      List<FieldProblem> fields = error.getDetails() == null ? null : error.getDetails().getFields();
      return Map.of(
          "status", refused.getCode(),
          "code", error.getCode().getValue(),
          "message", error.getMessage(),
          "request_id", error.getRequestId(),
          "pointers", fields == null ? List.of() : fields.stream().map(FieldProblem::getPointer).toList());
    }
    throw new IllegalStateException("the service answered otherwise than was asked");
  }
}
