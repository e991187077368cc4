//! Vaults and secrets by the client that openapi-generator makes for Rust. Prints what it did, as JSON.
use generated::apis::configuration::Configuration;
use generated::apis::{certificates_api, secrets_api, vaults_api, Error};
use generated::models;
use serde_json::{json, Value};
use std::collections::HashMap;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(round_trip())?);
    Ok(())
}

async fn round_trip() -> Result<Value, Failed> {
    let given: HashMap<String, String> = serde_json::from_reader(std::io::stdin())?;
    let (name, path) = (given["vault"].as_str(), "db/password");
    let api = Configuration {
        base_path: given["baseUrl"].clone(),
        bearer_access_token: Some(given["token"].clone()),
        ..Configuration::default()
    };

    let mut wanted = models::CreateVaultInput::new(name.to_owned());
    wanted.environment = Some("staging".to_owned());
    wanted.tags = Some(vec!["generated".to_owned()]);
    let vault = vaults_api::create_vault(&api, wanted, None).await?;

    let mut secret = models::CreateSecretInput::new(path.to_owned());
    secret.value = Some("hunter2".to_owned());
    let created = secrets_api::create_secret(&api, name, secret, Some(name)).await?;
    let read = secrets_api::read_secret(&api, name, path, None).await?;
    assert_eq!(created.secret_id, read.secret_id);
    assert!(read.secret_id > i64::from(i32::MAX), "the number of a secret takes more than 32 bits");

    let mut metadata = models::SecretMetadataChange::new();
    metadata.tags = Some(Some(vec!["new".to_owned()]));
    let mut change = models::UpdateSecretInput::new();
    change.metadata = Some(metadata);
    let changed = secrets_api::update_secret(&api, name, path, Some("\"v1\""), None, Some(change)).await?;
    let list = secrets_api::list_secrets(&api, name, None, Some(vec!["new".to_owned()]), None, None, None, None, None).await?;
    let removed = secrets_api::delete_secret(&api, name, path, None, None).await?;

    let missing = refusal(secrets_api::read_secret(&api, name, path, None).await)?;
    let invalid = refusal(vaults_api::create_vault(&api, models::CreateVaultInput::new("not a name".to_owned()), None).await)?;
    let revoked = certificates_api::read_revocation_list_der(&api, &given["tenantId"], None).await?.bytes().await?;

    Ok(json!({
        "vault": { "id": vault.id, "name": vault.name, "environment": vault.environment.to_string() },
        "secret": { "path": read.path, "version": read.version, "value": read.value },
        "tags": changed.metadata.tags,
        "listed": list.secrets.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(),
        "deleted": removed.deleted,
        "missing": missing,
        "invalid": invalid,
        "text": null,
        "binary": { "size": revoked.len(), "first": revoked[0] },
    }))
}

fn refusal<T, E>(answer: Result<T, Error<E>>) -> Result<Value, Failed> {
    let Err(Error::ResponseError(refused)) = answer else { return Err("the service answered otherwise than was asked".into()) };
    let error = serde_json::from_str::<models::Error>(&refused.content)?.error;
    let fields = error.details.and_then(|details| details.fields).unwrap_or_default();
    Ok(json!({
        "status": refused.status.as_u16(),
        "code": error.code.to_string(),
        "message": error.message,
        "request_id": error.request_id,
        "pointers": fields.iter().map(|one| one.pointer.as_str()).collect::<Vec<_>>(),
    }))
}
