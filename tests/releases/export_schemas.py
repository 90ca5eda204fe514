"""Facts about public formats, as their specifications state them: fields, types, what is required, allowed values.

TIDES v1.0 (2025-12-23): spec/*.schema.json and tides-datapackage-profile.json of github.com/TIDES-transit/TIDES.
GTFS-ride 1.2: spec/en/reference.md of github.com/ODOT-PTS/GTFS-ride.
"""

REQUIRED = {"required": True}
COUNT = {"minimum": 0}


def field(name, kind="string", **constraints):
    return {"name": name, "type": kind, **({"constraints": constraints} if constraints else {})}


TIDES = {
    "fare_transactions": {
        "primaryKey": ["transaction_id"],
        "fields": [
            field("transaction_id", required=True, unique=True),
            field("service_date", "date", **REQUIRED),
            field("event_timestamp", "datetime", **REQUIRED),
            field("amount", "number", **REQUIRED),
            field("currency_type"),
            field(
                "fare_action",
                required=True,
                enum=[
                    "Unknown action type",
                    "Purchase",
                    "Enter",
                    "Exit",
                    "Transfer entrance",
                    "Transfer exit",
                    "Add",
                    "Activate",
                    "Adjust",
                    "Other",
                ],
            ),
            field("trip_id_performed"),
            field("pattern_id"),
            field("stop_sequence", "integer", **COUNT),
            field("vehicle_id"),
            field("device_id"),
            field("fare_id"),
            field("stop_id"),
            field("num_riders", "integer", **COUNT),
            field(
                "fare_media_id",
                enum=[
                    "Cash or coins",
                    "Smart card or ticket",
                    "Magnetic-stripe card or ticket",
                    "Bank card",
                    "Mobile NFC",
                    "Optical scan",
                    "Other type",
                ],
            ),
            field("rider_category"),
            field("fare_product"),
            field("fare_period"),
            # Drafts of the specification differ on whether it is required; the stricter one is held here.
            field("fare_capped", "boolean", **REQUIRED),
            field("token_id"),
            field("balance", "number"),
        ],
    },
    "station_activities": {
        "primaryKey": ["service_date", "stop_id", "time_period_start", "time_period_end"],
        "fields": [
            field("service_date", "date", **REQUIRED),
            field("stop_id", **REQUIRED),
            field("time_period_start", "datetime", **REQUIRED),
            field("time_period_end", "datetime", **REQUIRED),
            field("time_period_category"),
            *(
                field(name, "integer", **COUNT)
                for name in (
                    "total_entries",
                    "total_exits",
                    "number_of_transactions",
                    "bike_entries",
                    "bike_exits",
                    "ramp_entries",
                    "ramp_exits",
                )
            ),
        ],
    },
    "devices": {
        "primaryKey": ["device_id"],
        "fields": [
            field("device_id", required=True, unique=True),
            field("stop_id"),
            field("vehicle_id"),
            field(
                "device_type",
                enum=[
                    "Farebox",
                    "Fare gate",
                    "Fare vending machine",
                    "Passenger counter",
                    "Vehicle location",
                    "Other",
                ],
            ),
            field("device_vendor"),
            field("device_model"),
            field("device_location"),
        ],
    },
}
# Of the package and of each resource.
TIDES_PACKAGE = {"title", "profile", "resources"}
TIDES_RESOURCE = {"name", "path", "schema", "profile"}
TIDES_SLUG = r"^([-a-z0-9._/])+$"

GTFS_RIDE = {
    "board_alight": [
        field("trip_id", **REQUIRED),
        field("stop_id", **REQUIRED),
        field("stop_sequence", "integer", required=True, minimum=0),
        field("record_use", "integer", required=True, enum=[0, 1]),
        field("schedule_relationship", "integer", enum=list(range(9))),
        field("boardings", "integer", **COUNT),
        field("alightings", "integer", **COUNT),
        {**field("service_date", "date"), "format": "%Y%m%d"},
        field("source", "integer", enum=[0, 1, 2, 3, 4]),
    ],
    "ridership": [
        # A record without a stop has both totals, and they are equal; one with a stop has at least one of the two.
        field("total_boardings", "integer", **COUNT),
        field("total_alightings", "integer", **COUNT),
        {**field("ridership_start_date", "date", **REQUIRED), "format": "%Y%m%d"},
        {**field("ridership_end_date", "date", **REQUIRED), "format": "%Y%m%d"},
        field("stop_id"),
    ],
    "rider_trip": [
        field("rider_id", required=True, unique=True),
        field("boarding_stop_id"),
        field("alighting_stop_id"),
        {**field("service_date", "date"), "format": "%Y%m%d"},
        field("boarding_time", pattern=r"\d{2}:[0-5]\d:[0-5]\d"),
        field("alighting_time", pattern=r"\d{2}:[0-5]\d:[0-5]\d"),
    ],
    "ride_feed_info": [
        field("ride_files", "integer", required=True, enum=[0, 1, 2, 3, 4, 5, 6]),
        {**field("ride_start_date", "date"), "format": "%Y%m%d"},
        {**field("ride_end_date", "date"), "format": "%Y%m%d"},
    ],
}
